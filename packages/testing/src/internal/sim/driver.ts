/**
 * The store as one process sees it: every call is a point where something odd can happen, every event arrives when its
 * turn comes, after the replies that are due. So a cache is behind by default, as it is in production (X04).
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { MemoryStore, Pass, type Resource, type StoreDriver, StoreError, StoreRules } from "setpoint"
import * as Asides from "./asides.ts"
import * as BootFaults from "./bootFaults.ts"
import * as Calls from "./calls.ts"
import * as CallSite from "./callSite.ts"
import * as Bounds from "./checks/bounds.ts"
import * as Guards from "./checks/guards.ts"
import * as Isolation from "./checks/isolation.ts"
import * as Notes from "./checks/notes.ts"
import * as Choices from "./choices.ts"
import type { External, Gate } from "./external.ts"
import * as Loop from "./loop.ts"
import * as Order from "./order.ts"
import { type Fault, sentence } from "./spec.ts"
import type { Line } from "./story.ts"
import * as Time from "./time.ts"
import * as World from "./world.ts"

/** How long a slow reply takes: past the next step of the workload. */
const slowMillis = 25_000
const lateMillis = 500
const stillMillis = 2_000
const outageMillis = 5_000

/** Whose call it is, and its name without the number of equal ones. */
interface Caller {
  readonly who: "pass" | "engine" | "collector" | "outside"
  readonly name: string
  readonly pass: Pass.Pass | undefined
  /** The user's line, where the run is told. */
  readonly site: string | undefined
}

const callerOf = (
  world: World.World,
  process: Loop.Process,
  fiber: Fiber.Fiber<unknown, unknown>,
  operation: string
): Caller => {
  const pass = fiber.getRef(Pass.Current)
  const open = world.calls && Calls.of(world.calls, fiber)
  if (open !== undefined) open.hasReachedStore = true
  const site = open?.site
  if (pass !== undefined) {
    const name = `${process.label}/${pass.registration}/${World.nameOf(pass.request)}/${pass.number}/${operation}`
    return { who: "pass", name, pass, site }
  }
  const caller = fiber.getRef(Pass.Caller)
  const who = isInformer(fiber) ? "engine" : caller === "collector" ? "collector" : "outside"
  return { who, name: `${process.label}/${caller}/${operation}`, pass, site }
}

const isInformer = (fiber: Fiber.Fiber<unknown, unknown>): boolean => fiber.getRef(Pass.Caller).startsWith("informer/")

/** What a call does when its turn comes, and how its odd ends look. */
interface Call<A, E> {
  readonly operation: string
  /** The user's line, where it is known already. */
  readonly site?: string | undefined
  /** What a write is bound to. */
  readonly bound?: Line["bound"]
  readonly apply: () => Exit.Exit<A, E>
  /** Beside the kills. */
  readonly alternatives: (caller: Caller) => ReadonlyArray<Fault>
  /** Whether it will change anything: asked just before it does. */
  readonly willChange: () => boolean
  readonly refused: () => E
  readonly lost: () => E
  /** Somebody else comes first. */
  readonly rival: () => void
}

const call = <A, E>(world: World.World, process: Loop.Process, call: Call<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => {
    const caller = callerOf(world, process, fiber, call.operation)
    if (caller.pass !== undefined) Notes.called(world.notes, caller.pass, call.operation)
    return Effect.callback<A, E>((resume) => {
      let isCancelled = false
      const reply = (exit: Exit.Exit<A, E>) => {
        if (!isCancelled) resume(exit)
      }
      Loop.call(world.loop, process, () => {
        // An interrupted call may have been sent: it takes effect all the same, as on a real connection (X12).
        takeTurn(world, process, caller, call, reply, undefined)
      })
      return Effect.sync(() => {
        isCancelled = true
      })
    })
  })

/** What is told meanwhile of the process is the call's doing. `putOff`: the point at which it was, which happens once. */
const takeTurn = <A, E>(
  world: World.World,
  process: Loop.Process,
  caller: Caller,
  call: Call<A, E>,
  reply: (exit: Exit.Exit<A, E>) => void,
  putOff: string | undefined
): void => {
  if (world.lines === undefined) return decide(world, process, caller, call, reply, putOff)
  const { pass } = caller
  const site = call.site ?? caller.site
  const noting = (exit: Exit.Exit<A, E>) => {
    if (Exit.isFailure(exit) && pass !== undefined && site !== undefined) world.calls?.failedAt.set(pass, site)
    reply(exit)
  }
  world.turn = { who: process.label, site, pass: pass && Asides.passName(pass), bound: call.bound }
  decide(world, process, caller, call, noting, putOff)
  world.turn = undefined
}

const decide = <A, E>(
  world: World.World,
  process: Loop.Process,
  caller: Caller,
  call: Call<A, E>,
  reply: (exit: Exit.Exit<A, E>) => void,
  putOff: string | undefined
): void => {
  const willChange = call.willChange()
  if (willChange && Isolation.isPoisoned(world, caller.pass) && call.alternatives(caller).includes("refuse")) {
    return reply(Exit.fail(call.refused()))
  }
  const apply = () => actAs(world, caller, call.apply)
  const offered = alternatives(world, process, caller, call, willChange, putOff === undefined)
  const name = putOff === undefined ? Choices.numbered(world.choices, caller.name) : `${putOff}~`
  const alternative = Choices.pick(world.choices, name, offered)
  const tell = () => {
    if (alternative !== undefined) tellFault(world, process, caller, alternative)
  }
  switch (alternative) {
    case "kill-after":
    case "lose":
      apply()
      tell()
      break
    default:
      tell()
  }
  switch (alternative) {
    case "kill":
    case "kill-after":
      return world.hooks.kill(world, process)
    case "refuse":
      return reply(Exit.fail(call.refused()))
    case "lose":
      return reply(Exit.fail(call.lost()))
    case "rival":
      call.rival()
      return reply(apply())
    case "early":
      world.hooks.takeStep(world)
      return reply(apply())
    case "slow": {
      const exit = apply()
      Loop.after(world.loop, process, slowMillis, () => reply(exit), caller.pass)
      return
    }
    case "pause":
      return Time.pause(world, process, () => takeTurn(world, process, caller, call, reply, name))
    case "behind":
      return Loop.arrive(world.loop, process, () => takeTurn(world, process, caller, call, reply, name))
    default:
      return reply(apply())
  }
}

/** What went otherwise, and at which call. */
const tellFault = (world: World.World, { label }: Loop.Process, { name }: Caller, alternative: string): void =>
  World.tell(world, label, `${name.slice(label.length + 1)}: ${sentence(alternative)}`, true)

/** Whoever judges the change knows whose it is. */
const actAs = <A>(world: World.World, { pass }: Caller, act: () => A): A => {
  if (pass === undefined) return act()
  world.acting = pass
  const done = act()
  world.acting = undefined
  return done
}

const alternatives = <A, E>(
  world: World.World,
  process: Loop.Process,
  caller: Caller,
  call: Call<A, E>,
  willChange: boolean,
  mayWait: boolean
): ReadonlyArray<Fault> => {
  if (!world.hasFaults) return []
  const offered: Array<Fault> = []
  if (canKillHere(world, process)) offered.push("kill")
  if (willChange) {
    offered.push("kill-after")
    world.killedAt.set(process.label, signature(world, 1))
  }
  offered.push(...call.alternatives(caller))
  if (caller.who === "pass" && world.stepsTaken < world.spec.steps.length) offered.push("early")
  if (caller.who === "pass" && mayWait && Loop.isContended(world.loop)) offered.push("behind")
  if (willChange && mayWait && caller.who !== "collector") offered.push("pause")
  return offered.filter((fault) => world.spec.faults.has(fault))
}

/** A killed process knows nothing: kills between which nothing happened have one future, and are tried once. */
const canKillHere = (world: World.World, process: Loop.Process): boolean => {
  const here = signature(world, 0)
  if (world.killedAt.get(process.label) === here) return false
  world.killedAt.set(process.label, here)
  return true
}

const signature = (world: World.World, more: number): string =>
  `${world.core.timeline.latest.revision + more}/${world.externalCalls}/${world.othersActs}/${world.stepsTaken}`

// ---------------------------------------------------------------------------------------------------------------------
// the store
// ---------------------------------------------------------------------------------------------------------------------

const reads = ({ who }: Caller): ReadonlyArray<Fault> => who === "collector" ? [] : ["refuse", "slow"]

/** The driver of one process. */
export const make = (world: World.World, process: Loop.Process): StoreDriver.Service => {
  const { driver } = world
  const read = <A>(
    operation: string,
    subject: StoreError.Subject,
    effect: () => Effect.Effect<A, StoreError.StoreError>
  ) =>
    call(world, process, {
      operation,
      apply: () => World.at(world, effect()),
      alternatives: reads,
      willChange: () => false,
      refused: () => refusal(subject),
      lost: () => refusal(subject),
      rival: () => {}
    })
  return {
    ...driver,
    kinds: read("kinds", everything, () => driver.kinds),
    get: (at, key, options) =>
      read(
        `get:${at.kind}/${World.nameOf(key)}`,
        StoreError.subject("get", at, key),
        () => driver.get(at, key, options)
      ),
    list: (at, options) => {
      const subject = StoreError.subject("list", at)
      const list = read(`list:${at.kind}`, subject, () => driver.list(at, BootFaults.listOptions(world, at, options)))
      return Effect.withFiber((fiber) => isInformer(fiber) ? BootFaults.firstList(world, at, list) : list)
    },
    outcome: (writeId) =>
      read(
        "outcome",
        everything,
        () => world.lost.has(writeId) ? Effect.succeed("forgotten" as const) : driver.outcome(writeId)
      ),
    write: (at, write, options) => written(world, process, at, write, options),
    watch: (at, options) => watched(world, process, at, options),
    fence: (lease, epoch) =>
      read(
        `fence:${lease}`,
        everything,
        () => Effect.tap(driver.fence(lease, epoch), () => Effect.sync(() => Guards.told(world, { lease, epoch })))
      )
  }
}

const written = (
  world: World.World,
  process: Loop.Process,
  at: StoreDriver.KindAddress,
  write: StoreDriver.Write,
  options: StoreDriver.WriteOptions
): Effect.Effect<StoreDriver.Written, StoreError.StoreError> => {
  const key = StoreRules.keyOf(write)
  const subject = StoreError.subject(write.op, at, key)
  const isNews = !World.isEventKind(at) && options.dryRun !== true
  return call(world, process, {
    operation: `${write.op}:${at.kind}/${World.nameOf(key)}`,
    bound: boundTo(options),
    apply: () => World.at(world, World.write(world, process.label, at, write, options)),
    alternatives: ({ who }) =>
      who === "collector" || !isNews
        ? []
        : options.revision === undefined
        ? ["refuse", "lose", "slow"]
        : ["refuse", "lose", "slow", "rival"],
    willChange: () => isNews && Exit.isSuccess(judged(world, at, write, options)),
    refused: () => refusal(subject),
    lost: () => {
      world.lost.add(options.writeId)
      return StoreError.make(subject, new StoreError.UnknownOutcome({ why: "simulated", writeId: options.writeId }))
    },
    rival: () => touch(world, at, key)
  })
}

const boundTo = ({ revision, uid }: StoreDriver.WriteOptions): Line["bound"] => [
  ...(uid === undefined ? [] : ["uid" as const]),
  ...(revision === undefined ? [] : ["revision" as const])
]

/** What the store would say: fails where the write is refused or changes nothing. */
const judged = (
  world: World.World,
  at: StoreDriver.KindAddress,
  write: StoreDriver.Write,
  options: StoreDriver.WriteOptions
): Exit.Exit<void, unknown> =>
  World.at(
    world,
    Effect.flatMap(
      world.driver.write(at, write, { ...options, dryRun: true }),
      ({ changed }) => changed ? Effect.void : Effect.fail("unchanged")
    )
  )

/** A write of another actor that desires nothing: the object's revision moves on (X09). */
export const touch = (
  world: World.World,
  at: StoreDriver.KindAddress,
  key: Resource.Key,
  mark = String(world.loop.steps)
): void => {
  const patch = { metadata: { annotations: { [World.rivalAnnotation]: mark } } }
  const options = { writeId: `rival-${mark}-${key.namespace}/${key.name}`, hasStatus: true }
  World.at(world, World.write(world, "rival", at, { op: "patch", key, type: "merge", patch }, options))
}

const everything: StoreError.Subject = StoreError.subject("call", { kind: "store", group: "" })

const refusal = (subject: StoreError.Subject): StoreError.StoreError =>
  StoreError.make(subject, new StoreError.Unavailable({ why: "simulated" }))

// ---------------------------------------------------------------------------------------------------------------------
// watches
// ---------------------------------------------------------------------------------------------------------------------

type Frame = readonly [ReadonlyArray<StoreDriver.WatchEvent>]

const watched = (
  world: World.World,
  process: Loop.Process,
  at: StoreDriver.KindAddress,
  options: StoreDriver.WatchOptions
): Stream.Stream<ReadonlyArray<StoreDriver.WatchEvent>, StoreError.StoreError> =>
  Stream.unwrap(Effect.map(
    Effect.acquireRelease(
      Effect.withFiber((fiber) => {
        const subject = StoreError.subject("watch", at)
        Bounds.watchOpened(world, `${callerOf(world, process, fiber, "watch").name}:${at.kind}`)
        const caller = callerOf(world, process, fiber, `event:${at.kind}`)
        if ((world.outages.get(caller.name) ?? 0) > world.loop.now) {
          return Effect.fail(StoreError.make(subject, new StoreError.Unavailable({ why: "simulated: an outage" })))
        }
        const opened = isExpired(world, options.from)
          ? Result.fail(noLongerKept)
          : MemoryStore.Core.watch(world.core, at, options)
        if (Result.isFailure(opened)) return Effect.fail(StoreError.make(subject, opened.failure))
        return Effect.succeed(makeWatch(world, process, caller, opened.success, subject))
      }),
      (watch) => Effect.sync(watch.close)
    ),
    (watch) => Stream.fromPull(Effect.succeed(watch.pull))
  ))

/** A watch that stood still too long was not the only loss: the history up to then is gone, for everybody who resumes. */
const isExpired = (world: World.World, from: StoreDriver.WatchOptions["from"]): boolean => {
  if (from === "current" || world.keptFrom === 0) return false
  const cursor = StoreRules.parseCursor(from)
  return Result.isSuccess(cursor) && Number(cursor.success.revision) < world.keptFrom
}

const noLongerKept = new StoreError.Expired({ why: "simulated: no longer kept" })

/** One watch: hands over one event at a time, each at a point of its own. */
const makeWatch = (
  world: World.World,
  process: Loop.Process,
  caller: Caller,
  watch: MemoryStore.Core.Watch,
  subject: StoreError.Subject
) => {
  const taken: Array<StoreDriver.WatchEvent> = []
  let ended: StoreError.Reason | undefined
  let isOnItsWay = false
  let sentAt = 0
  let resume: ((effect: Effect.Effect<Frame, StoreError.StoreError>) => void) | undefined

  const close = () => {
    process.connections.delete(close)
    MemoryStore.Core.close(watch)
    watch.buffer.wake = undefined
  }
  process.connections.add(close)

  const isThere = (): boolean => {
    if (taken.length > 0 || ended !== undefined) return true
    const found = MemoryStore.Core.take(watch)
    if (found === undefined) return false
    if ("length" in found) taken.push(...found)
    else ended = found
    return isThere()
  }
  /** What piled up while it could not be read is read at once (X07). */
  const takeRest = () => {
    for (let found = MemoryStore.Core.take(watch); found !== undefined; found = MemoryStore.Core.take(watch)) {
      if (!("length" in found)) return void (ended = found)
      taken.push(...found)
    }
  }
  const arm = () => {
    if (resume === undefined || isOnItsWay) return
    if (!isThere()) {
      watch.buffer.wake = arm
      return
    }
    isOnItsWay = true
    sentAt = world.loop.now
    Loop.arrive(world.loop, process, deliver)
  }
  const answer = (effect: Effect.Effect<Frame, StoreError.StoreError>) => {
    const reader = resume
    resume = undefined
    isOnItsWay = false
    reader?.(effect)
  }
  const endWith = (reason: StoreError.Reason) => answer(Effect.fail(StoreError.make(subject, reason)))
  const handOver = () => {
    if (resume === undefined) { // its reader left meanwhile: another may come
      isOnItsWay = false
      return
    }
    const isOverdue = world.loop.now - sentAt >= lateMillis
    if (isOverdue) takeRest()
    const events = taken.splice(0, isOverdue ? taken.length : 1)
    if (events.length > 0) return answer(Effect.succeed([events]))
    if (ended !== undefined) endWith(ended)
  }
  const expire = () => {
    world.keptFrom = world.core.timeline.latest.revision
    endWith(noLongerKept)
  }
  const later = (millis: number, run: () => void) => Loop.after(world.loop, process, millis, run)
  const deliver = () => {
    const event = taken[0]
    const isLive = event !== undefined && ("last" in event || ("object" in event && !event.initial))
    const held = isLive && caller.who === "engine" ? world.held.get(subject.kind) : undefined
    if (held !== undefined) return void held.push(() => Loop.arrive(world.loop, process, deliver))
    const offered = world.hasFaults && isLive && caller.who === "engine"
      ? eventFaults.filter((fault) => world.spec.faults.has(fault))
      : []
    const name = offered.length === 0 ? "" : Choices.numbered(world.choices, `${caller.name}/${objectOf(event)}`)
    const alternative = Choices.pick(world.choices, name, offered)
    if (alternative !== undefined) tellFault(world, process, caller, alternative)
    if (alternative === "late") later(lateMillis, handOver)
    else if (alternative === "cut") endWith(new StoreError.Unavailable({ why: "simulated: the watch was cut" }))
    else if (alternative === "outage") {
      world.outages.set(caller.name, world.loop.now + outageMillis)
      endWith(new StoreError.Unavailable({ why: "simulated: the store could not be reached" }))
    } else if (alternative === "expire") later(stillMillis, expire)
    else handOver()
  }
  const pull = Effect.callback<Frame, StoreError.StoreError>((ask) => {
    resume = ask
    arm()
    return Effect.sync(() => {
      resume = undefined
    })
  })
  return { close, pull }
}

const eventFaults: ReadonlyArray<Fault> = ["late", "cut", "expire", "outage"]

const objectOf = (event: StoreDriver.WatchEvent | undefined): string => {
  if (event === undefined) return ""
  if ("object" in event) return World.keyText(event.object)
  return "last" in event ? World.keyText(event.last) : ""
}

// ---------------------------------------------------------------------------------------------------------------------
// external services
// ---------------------------------------------------------------------------------------------------------------------

/** External services as one process sees them. */
export const externals = (
  world: World.World,
  process: Loop.Process,
  external: External<unknown, unknown>
): Context.Context<never> => external.provide(world.externals, gateOf(world, process))

/** The fake runs in the world, not in the process: a call that was sent takes effect whatever becomes of its caller. */
const gateOf = (world: World.World, process: Loop.Process): Gate => ({ args, effect, failure, isRead, operation }) =>
  call(world, process, {
    operation,
    site: world.calls && CallSite.here(),
    apply: () => {
      const exit = World.at(world, effect)
      Notes.calledOutside(world.notes, world.acting)
      if (isRead) Asides.readOutside(world, process.label, operation, Exit.isSuccess(exit))
      else {
        world.externalCalls++
        World.ask(world, [operation, args, exit._tag, Exit.isSuccess(exit) ? exit.value : undefined])
        World.tell(world, process.label, `${operation}${Exit.isSuccess(exit) ? "" : " failed"}`)
        world.hooks.look(world)
      }
      return Order.given(world, process.label, operation, exit)
    },
    alternatives: () => failure === undefined ? ["slow"] : isRead ? ["refuse", "slow"] : ["refuse", "lose", "slow"],
    willChange: () => !isRead,
    refused: () => errorOf(operation, failure),
    lost: () => errorOf(operation, failure),
    rival: () => {}
  })

const errorOf = <E>(operation: string, failure: (() => E) | undefined): E => {
  if (failure === undefined) throw new Error(`${operation} was to fail, but has no failure`)
  return failure()
}
