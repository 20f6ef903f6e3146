/** What an `InstanceWatcher` request asks for, checked: a target, or which field is wrong and why. */
import * as Result from "effect/Result"
import type { Request } from "../InstanceWatcher.ts"
import * as Selector from "../Selector.ts"
import type { Target } from "../WatchCoordinator.ts"
import * as metadata from "./metadata.ts"
import * as names from "./names.ts"

export interface Flaw {
  readonly field: string
  readonly why: string
}

const refuse = (field: string, why: string): Result.Result<never, Flaw> => Result.fail({ field, why })

export const of = (request: Request): Result.Result<Target, Flaw> => {
  if (request.transform?.name === "") return refuse("transform.name", "must not be empty: caches are shared by it")
  if ("ownedBy" in request) return Result.succeed({ _tag: "Owner", uid: request.ownedBy.metadata.uid })
  const { kind, namespace } = request
  const flaw = namespace === undefined ? undefined : metadata.checkNamespace(kind.address, namespace)
  if (flaw !== undefined) return refuse("namespace", flaw)
  if ("name" in request) {
    const wrong = names.checkPathSegment(request.name)
    if (wrong !== undefined) return refuse("name", wrong)
    const inNamespace = kind.address.scope === "Cluster" ? "" : namespace ?? "default"
    return Result.succeed({ _tag: "Name", namespace: inNamespace, name: request.name })
  }
  const selector = typeof request.selector === "string"
    ? Selector.parse(request.selector)
    : Result.succeed(request.selector)
  return Result.isFailure(selector)
    ? refuse("selector", selector.failure.message)
    : Result.succeed({ _tag: "Selector", namespace, selector: selector.success })
}
