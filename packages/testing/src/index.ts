/**
 * Random kinds, objects, selectors and histories, for property tests: Effect's own `Arbitrary`, which shrinks what fails.
 *
 * @since 0.1.0
 */
export * as Arbitraries from "./Arbitraries.ts"

/**
 * The simulator: finds a reconciler's crash, staleness and ordering bugs before its users do.
 *
 * @since 0.1.0
 */
export * as Sim from "./Sim.ts"

/**
 * Simulation as a test: `it.sim` beside the methods of `@effect/vitest`.
 *
 * @since 0.1.0
 */
export * as SimTest from "./SimTest.ts"

/**
 * Workloads: what users, and others, do while a check runs, step by step.
 *
 * @since 0.1.0
 */
export * as SimWorkload from "./SimWorkload.ts"

/**
 * A simulated world for tests that drive single steps by hand: the same world as {@link Sim.check} runs in, where a test
 * says what happens next.
 *
 * @since 0.1.0
 */
export * as SimWorld from "./SimWorld.ts"

/**
 * The contract of stores: one suite of tests that every store must pass, whatever it is made of.
 *
 * @since 0.1.0
 */
export * as StoreContract from "./StoreContract.ts"

/**
 * A store in front of which faults happen: for people who test against real stores, under a real or a test clock.
 *
 * @since 0.1.0
 */
export * as TestStore from "./TestStore.ts"
