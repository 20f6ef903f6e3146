export * as Informer from "./Informer.ts"
export * as WatchManager from "./WatchManager.ts"
