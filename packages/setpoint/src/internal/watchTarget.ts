/** What an `InstanceWatcher` request asks for, checked: a target, or which field is wrong and why. */
import * as Result from "effect/Result"
import type { Request } from "../InstanceWatcher.ts"
import type { AnyKind } from "../Kind.ts"
import * as Selector from "../Selector.ts"
import type { Sought, Target } from "../WatchCoordinator.ts"
import * as metadata from "./metadata.ts"
import * as names from "./names.ts"

export interface Flaw {
  readonly field: string
  readonly why: string
}

const refuse = (field: string, why: string): Result.Result<never, Flaw> => Result.fail({ field, why })

/** What a request asks for, not checked: enough to find it among what was asked for before. */
export const sought = (request: Request): Sought => {
  if ("ownedBy" in request) return { _tag: "Owner", uid: request.ownedBy.metadata.uid }
  const { kind, namespace } = request
  if ("name" in request) return { _tag: "Name", namespace: namespaceOf(kind, namespace), name: request.name }
  const { selector } = request
  return { _tag: "Selector", namespace, selector: typeof selector === "string" ? { text: selector } : selector }
}

/** One object has a namespace that was not given, too. */
const namespaceOf = ({ address }: AnyKind, given: string | undefined): string =>
  given ?? (address.scope === "Cluster" ? "" : "default")

export const of = (request: Request): Result.Result<Target, Flaw> => {
  if (request.transform?.name === "") return refuse("transform.name", "must not be empty: caches are shared by it")
  if ("ownedBy" in request) return Result.succeed({ _tag: "Owner", uid: request.ownedBy.metadata.uid })
  const { kind, namespace } = request
  const flaw = namespace === undefined ? undefined : metadata.checkNamespace(kind.address, namespace)
  if (flaw !== undefined) return refuse("namespace", flaw)
  if ("name" in request) {
    const wrong = names.checkPathSegment(request.name)
    if (wrong !== undefined) return refuse("name", wrong)
    return Result.succeed({ _tag: "Name", namespace: namespaceOf(kind, namespace), name: request.name })
  }
  const selector = typeof request.selector === "string"
    ? Selector.parse(request.selector)
    : Result.succeed(request.selector)
  return Result.isFailure(selector)
    ? refuse("selector", selector.failure.message)
    : Result.succeed({ _tag: "Selector", namespace, selector: selector.success })
}
