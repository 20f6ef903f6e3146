/**
 * A store in one SQLite file: the embedded default, on Node's own `node:sqlite`.
 *
 * @since 0.1.0
 */
export * as SqliteStore from "./SqliteStore.ts"
