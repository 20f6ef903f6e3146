/**
 * The contract of stores: one suite of tests that every store must pass, whatever it is made of.
 *
 * @since 0.1.0
 */
export * as StoreContract from "./StoreContract.ts"
