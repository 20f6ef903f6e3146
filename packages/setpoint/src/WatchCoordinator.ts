/**
 * Who wants to hear about what: the watch requests of all instances of an engine, and the look-up from an event to them.
 *
 * An *instance* is whoever reconciles one object, an interned value (its request, for one) that is told apart by identity.
 * A {@link Board} holds the requests on one *source* of changes, an informer for one. A request asks for one object by
 * name, for those that a selector selects, for the dependents of an owner, or for those that an index gives a value for.
 * It is known by its board and its target: an instance that asks twice for the same thing has asked once, and one that
 * changes its mind asks for the new thing and no longer for the old. (kro knows requests by the id of a node of its
 * graph, so that two nodes that watch one object are two requests; here there is no graph, and they are one.)
 *
 * All is synchronous: what waits, such as the start of an informer, is up to who calls.
 *
 * **Delivery**
 *
 * - D1: a request routes from the moment it is made, so who asks before it reads misses nothing.
 * - D5: an event is matched by the object as it is and as it was, so one that leaves a selection is noticed, also where it
 *   had no labels before. No selector matches an object that does not exist. One event tells an instance once, however
 *   many of its requests match.
 *
 * **Consistency** What was asked for in a pass is provisional until the pass ends: {@link commit} keeps it and drops what
 * was not asked for again, {@link abort} drops it and keeps what was committed before. Either way what stays routes
 * without a gap.
 *
 * **Memory** Nothing is kept of an instance that asks for nothing, nor of a name, namespace, selector, uid or value that
 * nobody asks for. A request is some 56 bytes, and what its target weighs.
 *
 * **Cost** D4: routing looks up, by hash, and costs what it matches, not how many instances or requests there are. For
 * selectors see `Selector.Index`; each namespace has its own, and those for all namespaces share one. Asking for what was
 * asked for in the last pass, in the same order, is a comparison.
 *
 * @since 0.1.0
 */
import * as Boards from "./internal/watchBoard.ts"
import * as Rules from "./internal/watchCoordinator.ts"

const TypeId = "~setpoint/WatchCoordinator"

/**
 * What a request asks for. It is kept, and must not be changed.
 *
 * - `Name`: one object. `namespace` is `""` for a kind without namespaces.
 * - `Selector`: the objects in one namespace, or (`undefined`) in all, whose labels are selected.
 * - `Owner`: the objects that name this uid among their owners.
 * - `Index`: the objects for which an index of the board gives this value.
 *
 * @category models
 * @since 0.1.0
 */
export type Target = Boards.Target

/**
 * A {@link Target} as far as finding it needs to know it: of a selector only its canonical text.
 *
 * @category models
 * @since 0.1.0
 */
export type Sought = Boards.Sought

/** @category models @since 0.1.0 */
export interface Options<in I> {
  /** Instances of one group are counted together, and listed by {@link members}. Default: all are of the group `undefined`. */
  readonly groupOf?: ((instance: I) => unknown) | undefined
}

/**
 * The watch sets of all instances. Written by this module only.
 *
 * @category models
 * @since 0.1.0
 */
export interface WatchCoordinator<in out I, in out S> {
  readonly [TypeId]: typeof TypeId
  readonly state: Rules.State<I, S>
}

/** @category models @since 0.1.0 */
export interface BoardOptions {
  /** By which values objects are found, by the name of the index. A function is pure and must not throw. */
  readonly indexes?: Boards.Indexes | undefined
}

/**
 * The requests on one source of changes. Written by this module only.
 *
 * @category models
 * @since 0.1.0
 */
export interface Board<in out I, in out S> {
  readonly source: S
  readonly state: Rules.Source<I, S>
}

/**
 * An object as it is and as it was. `undefined`: it does not exist. An `Informer.Change` is one, whose `object` is after
 * a delete the last state.
 *
 * @category models
 * @since 0.1.0
 */
export type Change = Boards.Change

/**
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { type Resource, WatchCoordinator } from "setpoint"
 *
 * const coordinator = WatchCoordinator.make<string, string>()
 * const secrets = WatchCoordinator.makeBoard(coordinator, "secrets")
 *
 * const password: Resource.Raw = {
 *   apiVersion: "v1",
 *   kind: "Secret",
 *   metadata: {
 *     namespace: "default",
 *     name: "password",
 *     uid: "1",
 *     resourceVersion: "1",
 *     generation: 1,
 *     creationTimestamp: "2026-01-01T00:00:00Z"
 *   }
 * }
 * const told: Array<string> = []
 * const change = () =>
 *   WatchCoordinator.route(secrets, { object: password, old: undefined }, (instance) => told.push(instance))
 *
 * // A pass of an instance asks for a Secret, and succeeds.
 * WatchCoordinator.watch(secrets, "blue", { _tag: "Name", namespace: "default", name: "password" })
 * WatchCoordinator.commit(coordinator, "blue")
 * change()
 * assert.deepEqual(told, ["blue"])
 *
 * // The next one asks for nothing: nobody needs the source any more.
 * assert.deepEqual(WatchCoordinator.commit(coordinator, "blue"), ["secrets"])
 * assert.equal(change(), 0)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <I, S>(options: Options<I> = {}): WatchCoordinator<I, S> => ({
  [TypeId]: TypeId,
  state: Rules.make(options.groupOf ?? noGroup)
})

const noGroup = (): undefined => undefined

/**
 * An empty board for a source, which is handed back by {@link commit}, {@link abort} and {@link remove} when its last
 * request goes. A board may be used again after that.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeBoard = <I, S>(
  self: WatchCoordinator<I, S>,
  source: S,
  options: BoardOptions = {}
): Board<I, S> => ({ source, state: Rules.makeBoard(self.state, source, options.indexes ?? {}) })

// ---------------------------------------------------------------------------------------------------------------------
// a pass
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The instance asks for something in its pass, and is told of it from now on. `"known"`: it had asked before. An index
 * that the board does not have is a defect.
 *
 * @category passes
 * @since 0.1.0
 */
export const watch = <I, S>(board: Board<I, S>, instance: I, target: Target): "new" | "known" =>
  Rules.watch(board.state, instance, target)

/**
 * Asks again for what the instance has asked for before. `false`, and nothing is done, where it has not: then check what it
 * wants, and {@link watch}.
 *
 * @category passes
 * @since 0.1.0
 */
export const watchAgain = <I, S>(board: Board<I, S>, instance: I, sought: Sought): boolean =>
  Rules.watchAgain(board.state, instance, sought)

/**
 * Ends a pass: what the instance asked for in it is what it watches, and nothing else is. Returns the sources that no
 * request uses any more.
 *
 * @category passes
 * @since 0.1.0
 */
export const commit = <I, S>(self: WatchCoordinator<I, S>, instance: I): ReadonlyArray<S> =>
  Rules.commit(self.state, instance)

/**
 * Ends a pass as if it had not been: what the instance first asked for in it is dropped, what it watched before stays.
 * Returns the sources that no request uses any more.
 *
 * @category passes
 * @since 0.1.0
 */
export const abort = <I, S>(self: WatchCoordinator<I, S>, instance: I): ReadonlyArray<S> =>
  Rules.abort(self.state, instance)

/**
 * The instance is gone: all that it asked for is dropped, committed or not. Returns the sources that no request uses any
 * more.
 *
 * @category passes
 * @since 0.1.0
 */
export const remove = <I, S>(self: WatchCoordinator<I, S>, instance: I): ReadonlyArray<S> =>
  Rules.remove(self.state, instance)

// ---------------------------------------------------------------------------------------------------------------------
// events
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Tells each instance that asked for this object, once, and says how many there were. All are found before the first is
 * told, so `tell` may ask and end passes.
 *
 * @category routing
 * @since 0.1.0
 */
export const route = <I, S>(board: Board<I, S>, change: Change, tell: (instance: I) => void): number =>
  Rules.route(board.state, change, tell)

// ---------------------------------------------------------------------------------------------------------------------
// getters
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Whether any request is on the board.
 *
 * @category getters
 * @since 0.1.0
 */
export const isUsed = <I, S>(board: Board<I, S>): boolean => Boards.size(board.state) > 0

/**
 * Whether the board has an index of this name, so that it can be asked for.
 *
 * @category getters
 * @since 0.1.0
 */
export const hasIndex = <I, S>(board: Board<I, S>, index: string): boolean => board.state.indexes.has(index)

/**
 * How many requests are on the board, by what they ask for.
 *
 * @category getters
 * @since 0.1.0
 */
export const counts = <I, S>(board: Board<I, S>): { readonly [tag in Target["_tag"]]: number } => ({
  ...board.state.counts
})

/**
 * How many instances ask for something, by group. A group without any is not there.
 *
 * @category getters
 * @since 0.1.0
 */
export const instances = <I, S>(self: WatchCoordinator<I, S>): ReadonlyMap<unknown, number> =>
  new Map(Array.from(self.state.groups, ([group, sets]) => [group, sets.size]))

/**
 * How many requests the instances of a group have.
 *
 * @category getters
 * @since 0.1.0
 */
export const size = <I, S>(self: WatchCoordinator<I, S>, group: unknown): number => {
  let count = 0
  for (const set of self.state.groups.get(group)?.values() ?? []) count += set.requests.length
  return count
}

/**
 * What the instance asks for, in the order in which it first did.
 *
 * @category getters
 * @since 0.1.0
 */
export const requestsOf = <I, S>(
  self: WatchCoordinator<I, S>,
  instance: I
): ReadonlyArray<{ readonly source: S; readonly target: Target; readonly isCommitted: boolean }> => {
  const set = Rules.find(self.state, instance)
  return set === undefined
    ? []
    : set.requests.map(({ board, target }, at) => ({ source: board.source, target, isCommitted: at < set.committed }))
}

/**
 * Whether an instance has asked for anything, in its last pass or in this one.
 *
 * @category getters
 * @since 0.1.0
 */
export const isWatching = <I, S>(self: WatchCoordinator<I, S>, instance: I): boolean =>
  Rules.find(self.state, instance) !== undefined

/**
 * The instances of a group that have asked for anything.
 *
 * @category getters
 * @since 0.1.0
 */
export const members = <I, S>(self: WatchCoordinator<I, S>, group: unknown): ReadonlyArray<I> =>
  Array.from(self.state.groups.get(group)?.keys() ?? [])
