/**
 * Field ownership (S11): what `apply` does to an object, as a pure function on stored objects.
 *
 * @since 0.1.0
 */
export * as Apply from "./Apply.ts"

/**
 * Conditions: what a status says about an object, one aspect at a time, in Kubernetes' form.
 *
 * @since 0.1.0
 */
export * as Condition from "./Condition.ts"

/**
 * The engine: registers reconcilers, watches their objects, and runs their passes on shared workers.
 *
 * @since 0.1.0
 */
export * as Controller from "./Controller.ts"

/**
 * Kinds that come and go while the program runs: registrations by name, made and ended from any fiber.
 *
 * @since 0.1.0
 */
export * as DynamicController from "./DynamicController.ts"

/**
 * Events: what happened to an object, kept as objects that people read (`kubectl describe` shows them).
 *
 * @since 0.1.0
 */
export * as EventRecorder from "./EventRecorder.ts"

/**
 * Finalizers: a clean-up that a store waits for before it removes an object, declared as one thing.
 *
 * @since 0.1.0
 */
export * as Finalizer from "./Finalizer.ts"

/**
 * The garbage collector: deletes what no owner holds any more.
 *
 * @since 0.1.0
 */
export * as GarbageCollector from "./GarbageCollector.ts"

/**
 * Health: whether the process is live, whether it is ready, and why not, a part.
 *
 * @since 0.1.0
 */
export * as Health from "./Health.ts"

/**
 * Informers: a cache of a kind's objects that a list fills and a watch keeps in step, shared by all who read it.
 *
 * @since 0.1.0
 */
export * as Informer from "./Informer.ts"

/**
 * What an instance wants to hear about, asked for from inside its pass.
 *
 * @since 0.1.0
 */
export * as InstanceWatcher from "./InstanceWatcher.ts"

/**
 * Kinds: what objects of one sort look like, declared with Schema.
 *
 * @since 0.1.0
 */
export * as Kind from "./Kind.ts"

/**
 * A store in memory: nothing is kept on disk. For tests, for programs that rebuild their state, and as the measure that
 * the contract suite holds other stores to.
 *
 * @since 0.1.0
 */
export * as MemoryStore from "./MemoryStore.ts"

/**
 * Metrics: plain counters of the engine, read when somebody looks.
 *
 * @since 0.1.0
 */
export * as Metrics from "./Metrics.ts"

/**
 * Outcomes: what a pass that did not fail says about the next one.
 *
 * @since 0.1.0
 */
export * as Outcome from "./Outcome.ts"

/**
 * Owners: which object another one belongs to.
 *
 * @since 0.1.0
 */
export * as Owner from "./Owner.ts"

/**
 * The current pass: what a call to a store, made from inside a reconciler, belongs to.
 *
 * @since 0.1.0
 */
export * as Pass from "./Pass.ts"

/**
 * Predicates: which watch events cause a pass.
 *
 * @since 0.1.0
 */
export * as Predicate from "./Predicate.ts"

/**
 * How long a key waits before it is tried again.
 *
 * @since 0.1.0
 */
export * as RateLimiter from "./RateLimiter.ts"

/**
 * Reconcilers: how the objects of one kind are brought to their desired state, declared as a value.
 *
 * @since 0.1.0
 */
export * as Reconciler from "./Reconciler.ts"

/**
 * Requests: what a reconciler is asked to reconcile. A key, never an object: a pass reads the world anew.
 *
 * @since 0.1.0
 */
export * as Request from "./Request.ts"

/**
 * Resources: the objects that a store keeps, in Kubernetes' form.
 *
 * @since 0.1.0
 */
export * as Resource from "./Resource.ts"

/**
 * Revisions: the strings that order the changes of one store.
 *
 * @since 0.1.0
 */
export * as Revision from "./Revision.ts"

/**
 * Label selectors, equality based and set based, with Kubernetes' grammar and meaning, and an index of many selectors.
 *
 * @since 0.1.0
 */
export * as Selector from "./Selector.ts"

/**
 * The store that users call: typed objects over any driver.
 *
 * @since 0.1.0
 */
export * as Store from "./Store.ts"

/**
 * What an adapter implements: plain JSON in, plain JSON out.
 *
 * @since 0.1.0
 */
export * as StoreDriver from "./StoreDriver.ts"

/**
 * The one closed set of errors that stores fail with.
 *
 * @since 0.1.0
 */
export * as StoreError from "./StoreError.ts"

/**
 * What a write does to one object: the rules that all stores of our own share, as one pure function.
 *
 * @since 0.1.0
 */
export * as StoreRules from "./StoreRules.ts"

/**
 * What lies between a store's writes and the one reader of a watch: a filter and a bounded buffer.
 *
 * @since 0.1.0
 */
export * as WatchBuffer from "./WatchBuffer.ts"

/**
 * Who wants to hear about what: the watch requests of all instances of an engine, and the look-up from an event to them.
 *
 * @since 0.1.0
 */
export * as WatchCoordinator from "./WatchCoordinator.ts"

/**
 * The informers of a process, shared: whoever asks for the same objects in the same form gets the same informer.
 *
 * @since 0.1.0
 */
export * as WatchManager from "./WatchManager.ts"

/**
 * A queue of keys for a pool of workers: deduplicated, delayed, fair, and never twice at once.
 *
 * @since 0.1.0
 */
export * as WorkQueue from "./WorkQueue.ts"
