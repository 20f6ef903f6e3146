/**
 * A machine that exists only in a test: its processes outlive supervisors, and their numbers are used again.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import type { Identity, Launch } from "../../src/Kinds.ts"
import { CannotStart, type Mark, type Marked, Processes, type Sight, Unhealthy } from "../../src/Processes.ts"

export interface Fake {
  readonly identity: Identity
  readonly name: string
  /** `undefined`: nobody of the fleet started it. */
  readonly mark: Mark | undefined
  readonly launch: Launch | undefined
  readonly leader: boolean
  healthy: boolean
  /** Ends when asked to. */
  obeys: boolean
  /** How it ended; `undefined` while it lives. */
  end: string | undefined
}

export class World {
  readonly all: Array<Fake> = []
  /** The supervisors that live. */
  readonly supervisors: Array<Identity> = []
  readonly signals: Array<string> = []
  /** Commands that cannot be started. */
  readonly missing = new Set<string>()
  /** Whether what is started answers health checks from the start. */
  healthy = true
  /** Hear of every end. */
  readonly listeners = new Set<(fake: Fake) => void>()

  add(name: string, mark: Mark | undefined, launch?: Launch, options: { pid?: number; leader?: boolean } = {}): Fake {
    const pid = options.pid ?? 100 + this.all.length
    const fake: Fake = {
      identity: { pid, began: `boot/${this.all.length}` },
      name,
      mark,
      launch,
      leader: options.leader ?? true,
      healthy: this.healthy,
      obeys: true,
      end: undefined
    }
    this.all.push(fake)
    return fake
  }

  end(fake: Fake, how: string): void {
    if (fake.end !== undefined) return
    fake.end = how
    for (const tell of this.listeners) tell(fake)
  }

  get living(): ReadonlyArray<Fake> {
    return this.all.filter((fake) => fake.end === undefined)
  }

  named(name: string): ReadonlyArray<Fake> {
    return this.living.filter((fake) => fake.name === name)
  }

  /** The one living process of a name. */
  one(name: string): Fake {
    const [fake, ...more] = this.named(name)
    if (fake === undefined || more.length > 0) throw new Error(`there are ${this.named(name).length} of ${name}`)
    return fake
  }

  start(name: string, mark: Mark, launch: Launch): Effect.Effect<Identity, CannotStart> {
    return Effect.suspend(() =>
      this.missing.has(launch.command)
        ? Effect.fail(new CannotStart({ command: launch.command, why: "ENOENT" }))
        : Effect.succeed(this.add(name, mark, launch).identity)
    )
  }

  look(identity: Identity): Effect.Effect<Sight> {
    return Effect.sync(() => {
      const fake = this.find(identity)
      const lives = fake?.end === undefined && fake !== undefined ||
        this.supervisors.some(({ began, pid }) => began === identity.began && pid === identity.pid)
      return lives ? { _tag: "Alive" } : { _tag: "Gone", how: fake?.end }
    })
  }

  marked(owner: string): Effect.Effect<ReadonlyArray<Marked>> {
    return Effect.sync(() =>
      this.living.flatMap(({ identity, leader, mark }) => mark?.owner === owner ? [{ identity, mark, leader }] : [])
    )
  }

  signal(identity: Identity, signal: "SIGTERM" | "SIGKILL"): Effect.Effect<void> {
    return Effect.sync(() => {
      const fake = this.find(identity)
      if (fake === undefined || fake.end !== undefined) return
      this.signals.push(`${signal} ${fake.name}`)
      if (signal === "SIGKILL" || fake.obeys) this.end(fake, `signal ${signal}`)
    })
  }

  probe(port: number): Effect.Effect<void, Unhealthy> {
    return Effect.suspend(() =>
      this.living.some((fake) => fake.launch?.port === port && fake.healthy)
        ? Effect.void
        : Effect.fail(new Unhealthy({ why: `no answer on port ${port}` }))
    )
  }

  /** A supervisor begins, and is a process too. */
  enter(began: string): Identity {
    const self = { pid: 1 + this.supervisors.length, began }
    this.supervisors.push(self)
    return self
  }

  leave(supervisor: Identity): void {
    this.supervisors.splice(this.supervisors.indexOf(supervisor), 1)
  }

  /** The processes as a supervisor sees them, which is a process too, as long as the Layer stands. */
  layer(supervisor: string): Layer.Layer<Processes> {
    return Layer.effect(
      Processes,
      Effect.gen({ self: this }, function*() {
        const self = yield* Effect.acquireRelease(
          Effect.sync(() => this.enter(supervisor)),
          (self) => Effect.sync(() => this.leave(self))
        )
        const ends = yield* PubSub.unbounded<string>()
        const tell = ({ name }: Fake) => PubSub.publishUnsafe(ends, name)
        yield* Effect.acquireRelease(
          Effect.sync(() => this.listeners.add(tell)),
          () => Effect.sync(() => this.listeners.delete(tell))
        )
        return Processes.of({
          self,
          start: (name, mark, launch) => this.start(name, mark, launch),
          look: (identity) => this.look(identity),
          find: (owner) => this.marked(owner),
          signal: (identity, signal) => this.signal(identity, signal),
          probe: (port) => this.probe(port),
          ends: Stream.fromPubSub(ends)
        })
      })
    )
  }

  private find(identity: Identity): Fake | undefined {
    return this.all.find((fake) => fake.identity.pid === identity.pid && fake.identity.began === identity.began)
  }
}
