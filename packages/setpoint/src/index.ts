export * as RateLimiter from "./RateLimiter.ts"

export * as WorkQueue from "./WorkQueue.ts"
