/** What the store adds to a status when it is written: honest transition times, and the generation that it is about. */
import { isArray, isObject, type Json, type JsonArray, type JsonObject } from "./json.ts"

/**
 * The new conditions with their times: kept where the status is as it was, else `nowText`, unless the caller gives
 * another time than the old one. Each is about the object's generation: who writes a condition says that it holds now,
 * whether it is made anew or carried over from what was read.
 */
export const mergeConditions = (
  old: Json | undefined,
  next: JsonArray,
  nowText: string,
  generation: number | undefined
): JsonArray => {
  const before = new Map<unknown, JsonObject>()
  for (const condition of isArray(old) ? old : []) if (isObject(condition)) before.set(condition.type, condition)
  return next.map((condition) => {
    if (!isCondition(condition)) return condition
    const was = before.get(condition.type)
    return {
      ...condition,
      lastTransitionTime: transitionTime(was, condition, nowText),
      ...(generation === undefined || isNewer(condition.observedGeneration, generation)
        ? {}
        : { observedGeneration: generation })
    }
  })
}

const isNewer = (given: Json | undefined, generation: number): boolean =>
  typeof given === "number" && given > generation

const isCondition = (value: Json): value is JsonObject =>
  isObject(value) && typeof value.type === "string" && typeof value.status === "string"

const transitionTime = (was: JsonObject | undefined, now: JsonObject, nowText: string): Json => {
  const given = now.lastTransitionTime
  if (was === undefined) return given ?? nowText
  const kept = was.lastTransitionTime
  if (was.status === now.status) return kept ?? given ?? nowText
  return given === undefined || given === kept ? nowText : given
}

/**
 * A status as it is to be written: its `conditions` merged, and `observedGeneration` set unless the caller moved it on
 * their own. A Schema that does not declare these leaves them out afterwards.
 */
export const stampStatus = (
  old: Json | undefined,
  next: Json,
  nowText: string,
  generation: number | undefined
): Json => {
  if (!isObject(next)) return next
  const before: JsonObject = isObject(old) ? old : {}
  const { conditions, observedGeneration } = next
  const isCarried = observedGeneration === undefined || observedGeneration === before.observedGeneration
  return {
    ...next,
    ...(isArray(conditions)
      ? { conditions: mergeConditions(before.conditions, conditions, nowText, generation) }
      : {}),
    ...(generation !== undefined && isCarried ? { observedGeneration: generation } : {})
  }
}
