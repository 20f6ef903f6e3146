/** kro's own definitions, unchanged, and what kro's own tests expect of them. */
import { assert, describe, it } from "@effect/vitest"
import * as Manifest from "@setpoint/example-manifests"
import * as Effect from "effect/Effect"
import type { Resource } from "setpoint"
import * as Chainsaw from "./utils/chainsaw.ts"
import * as Harness from "./utils/harness.ts"
import * as Inputs from "./utils/inputs.ts"

type Json = Resource.Json
const at = (value: Json | undefined, path: string): Json | undefined =>
  value === undefined ? undefined : Manifest.valueAt(value, Manifest.pathOf(path))
const textAt = (value: Json | undefined, path: string): string | undefined => {
  const found = at(value, path)
  return typeof found === "string" ? found : undefined
}

const namespace = "chainsaw"

const assertObject = Effect.fnUntraced(function*(expected: Json) {
  const kind = String(at(expected, "kind"))
  const actual = yield* Harness.get(
    String(at(expected, "apiVersion")),
    kind,
    String(at(expected, "metadata.name")),
    textAt(expected, "metadata.namespace") ?? namespace
  )
  assert.deepStrictEqual(Chainsaw.differences(expected, actual), [], `${kind} ${JSON.stringify(actual, null, 1)}`)
})

/** One operation of a test. What asks a cluster for permissions, for logs or for patience is not needed here. */
const operate = Effect.fnUntraced(function*(name: string, operation: Json) {
  const file = textAt(operation, "apply.file") ?? textAt(operation, "assert.file")
  if (file === "cluster-role.yaml") return
  if (at(operation, "apply") !== undefined) return yield* Harness.apply(Inputs.read(name, String(file)), namespace)
  if (at(operation, "assert") !== undefined) {
    return yield* Effect.forEach(Inputs.read(name, String(file)), ({ value }) => assertObject(value))
  }
  const deleted = at(operation, "delete.ref")
  if (deleted !== undefined) {
    return yield* Harness.remove(
      textAt(deleted, "apiVersion") ?? "",
      textAt(deleted, "kind") ?? "",
      textAt(deleted, "name") ?? ""
    )
  }
  const waited = at(operation, "wait")
  if (waited !== undefined) {
    assert.strictEqual(at(waited, "for.jsonPath.path"), "{.status.conditions[?(@.type=='Ready')].status}")
    return yield* assertObject({
      apiVersion: textAt(waited, "apiVersion") ?? "",
      kind: textAt(waited, "kind") ?? "",
      metadata: { name: textAt(waited, "name") ?? "" },
      status: { "(conditions[?type == 'Ready'])": [{ status: textAt(waited, "for.jsonPath.value") ?? "" }] }
    })
  }
  if (at(operation, "sleep") !== undefined) return yield* Harness.settle
  throw new Error(`an operation that is not known here: ${JSON.stringify(operation)}`)
})

describe.skipIf(Inputs.absent !== undefined)("end-to-end tests", () => {
  const tests = Inputs.absent === undefined ? Inputs.cases().filter((name) => name.startsWith("e2e-")) : []
  for (const name of tests) {
    it.effect(`${name} passes`, () =>
      Effect.gen(function*() {
        const [test] = Inputs.read(name, "chainsaw-test.yaml")
        const steps = at(test.value, "spec.steps")
        assert.isTrue(Array.isArray(steps) && steps.length > 0)
        for (const step of Array.isArray(steps) ? steps : []) {
          for (const part of ["try", "finally"]) {
            const operations = at(step, part)
            for (const operation of Array.isArray(operations) ? operations : []) yield* operate(name, operation)
          }
        }
      }).pipe(Effect.provide(Harness.layer)))
  }
})

/** What kro's upgrade tests expect of each fixture: these children, in the namespace `upgrade-test`. */
const fixtures: { readonly [name: string]: ReadonlyArray<readonly [apiVersion: string, kind: string, name: string]> } =
  {
    "fixture-deletion-target": [["v1", "ConfigMap", "test-deletion-target-configmap"]],
    "fixture-external-ref": [["v1", "ConfigMap", "test-extref-configmap"]],
    "fixture-foreach-empty": [["v1", "ConfigMap", "test-foreachempty-configmap"]],
    "fixture-foreach-nil": [["v1", "ConfigMap", "test-foreachnil-configmap"]],
    "fixture-includewhen-empty": [["v1", "ConfigMap", "test-includeempty-configmap"]],
    "fixture-includewhen-nil": [["v1", "ConfigMap", "test-includenil-configmap"]],
    "fixture-multi-dependency": [
      ["v1", "ConfigMap", "test-multidep-config"],
      ["apps/v1", "Deployment", "test-multidep-deployment"],
      ["v1", "Service", "test-multidep-deployment"]
    ],
    "fixture-readywhen-nil": [["v1", "ConfigMap", "test-readynil-configmap"]],
    "fixture-simple-deployment": [
      ["apps/v1", "Deployment", "test-simple-deployment"],
      ["v1", "Service", "test-simple-service"]
    ]
  }

describe.skipIf(Inputs.absent !== undefined)("upgrade fixtures", () => {
  for (const [name, children] of Object.entries(fixtures)) {
    it.effect(`${name} is active, and its children are there`, () =>
      Effect.gen(function*() {
        for (const file of Inputs.files("fixture-common")) yield* Harness.apply(Inputs.read("fixture-common", file))
        const [definition] = yield* Harness.apply(Inputs.read(name, "rgd.yaml"))
        const [instance] = yield* Harness.apply(Inputs.read(name, "instance.yaml"))
        yield* assertObject({
          apiVersion: "kro.run/v1alpha1",
          kind: "ResourceGraphDefinition",
          metadata: { name: definition.metadata.name },
          status: { state: "Active", "(conditions[?status == 'True'])": [{}, {}, {}, {}] }
        })
        yield* assertObject({
          apiVersion: instance.apiVersion,
          kind: instance.kind,
          metadata: { name: instance.metadata.name, namespace: "upgrade-test" },
          status: {
            state: "ACTIVE",
            "(conditions[?status == 'True'])": [{}, {}, {}, {}],
            ...(name === "fixture-simple-deployment" ? { availableReplicas: 1 } : {})
          }
        })
        for (const [apiVersion, kind, child] of children) {
          assert.isDefined(yield* Harness.get(apiVersion, kind, child, "upgrade-test"), `${kind} ${child}`)
        }
      }).pipe(Effect.provide(Harness.layer)))
  }
})

describe.skipIf(Inputs.absent !== undefined)("examples and documentation", () => {
  /** No expected result is published: that the instances become active, and what they must then have made. */
  const examples: ReadonlyArray<readonly [name: string, made: ReadonlyArray<readonly [string, string, string]>]> = [
    ["example-additionalPrinterColumns", [["apps/v1", "Deployment", "test-app"], [
      "v1",
      "Service",
      "test-app-service"
    ]]],
    ["example-core-dns", [
      ["rbac.authorization.k8s.io/v1", "ClusterRole", "mynameis"],
      ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "mynameis"],
      ["v1", "ConfigMap", "mynameis"],
      ["apps/v1", "Deployment", "mynameis"],
      ["v1", "Service", "mynameis"],
      ["v1", "ServiceAccount", "mynameis"]
    ]],
    ["example-defaults", []],
    ["example-job-example", [
      ["batch/v1", "Job", "example-job-deployment-job"],
      ["apps/v1", "Deployment", "example-job-deployment"]
    ]],
    ["example-saas-multi-tenant", [
      ["kro.run/v1alpha1", "TenantEnvironment", "tenant001"],
      ["kro.run/v1alpha1", "TenantApplication", "tenant001"],
      ["v1", "Namespace", "tenant001"]
    ]],
    ["cloud-networkstack", [
      ["ec2.services.k8s.aws/v1alpha1", "VPC", "vpc-my-networking-stack"],
      ["ec2.services.k8s.aws/v1alpha1", "Subnet", "subnet-c-my-networking-stack"],
      ["ec2.services.k8s.aws/v1alpha1", "SecurityGroup", "cluster-security-group-my-networking-stack"]
    ]]
  ]
  const rank = (kind: Json | undefined) =>
    kind === "CustomResourceDefinition" ? 0 : kind === "ResourceGraphDefinition" ? 1 : 2

  for (const [name, made] of examples) {
    it.effect(`${name} becomes active`, () =>
      Effect.gen(function*() {
        const manifests = Inputs.files(name).flatMap((file) => Inputs.read(name, file))
          .toSorted((a, b) => rank(a.value["kind"]) - rank(b.value["kind"]))
        for (const manifest of manifests) yield* Harness.apply([manifest])
        yield* Harness.settle
        for (const { value } of manifests.filter(({ value }) => rank(value["kind"]) === 2)) {
          yield* assertObject({
            apiVersion: textAt(value, "apiVersion") ?? "",
            kind: textAt(value, "kind") ?? "",
            metadata: { name: textAt(value, "metadata.name") ?? "", namespace: "default" },
            status: { state: "ACTIVE" }
          })
        }
        for (const [apiVersion, kind, child] of made) {
          assert.isDefined(yield* Harness.get(apiVersion, kind, child), `${kind} ${child}`)
        }
      }).pipe(Effect.provide(Harness.layer)))
  }
})
