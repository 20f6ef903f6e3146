/**
 * What a cluster does with the objects of definitions, as far as their readiness goes: it says in the status of workloads
 * that they run, a while after they were made or changed. It starts nothing.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Controller, Outcome, Reconciler, type Resource, Store } from "setpoint"
import type * as Crd from "./crd.ts"
import { type AnyObject, Kinds } from "./Kinds.ts"

type Mapping = { readonly [key: string]: Resource.Json }

const fieldOf = (object: AnyObject, field: string): Mapping => {
  const value = object[field]
  return typeof value === "object" && value !== null ? value as Mapping : {} // a stored object is JSON
}

const replicasOf = (object: AnyObject): number => Number(fieldOf(object, "spec")["replicas"] ?? 1)

const condition = (type: string): Mapping => ({ type, status: "True", reason: "Simulated", message: "" })

/** The status that each kind comes to. */
const statuses: { readonly [kind: string]: (object: AnyObject) => Mapping } = {
  "apps/v1 Deployment": (object) => ({
    replicas: replicasOf(object),
    readyReplicas: replicasOf(object),
    availableReplicas: replicasOf(object),
    updatedReplicas: replicasOf(object),
    conditions: [condition("Available")]
  }),
  "apps/v1 StatefulSet": (object) => ({ replicas: replicasOf(object), readyReplicas: replicasOf(object) }),
  "batch/v1 Job": () => ({ succeeded: 1, completionTime: "2026-01-01T00:00:00Z", conditions: [condition("Complete")] }),
  "v1 Pod": () => ({ phase: "Running", conditions: [condition("Ready")] }),
  "ec2.services.k8s.aws/v1alpha1 VPC": ({ metadata }) => ({ vpcID: `vpc-${metadata.uid.slice(0, 8)}` }),
  "ec2.services.k8s.aws/v1alpha1 Subnet": ({ metadata }) => ({ subnetID: `subnet-${metadata.uid.slice(0, 8)}` }),
  "ec2.services.k8s.aws/v1alpha1 SecurityGroup": ({ metadata }) => ({ id: `sg-${metadata.uid.slice(0, 8)}` })
}

const open = (properties: Mapping): Mapping => ({
  type: "object",
  "x-kubernetes-preserve-unknown-fields": true,
  properties
})

const filled = (properties: Mapping): Mapping => ({ ...open(properties), default: {} })

/** What an API server fills in where a Deployment says nothing. */
const deployment: Crd.Declared = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  scope: "Namespaced",
  schema: open({
    spec: open({
      replicas: { type: "integer", default: 1 },
      progressDeadlineSeconds: { type: "integer", default: 600 },
      revisionHistoryLimit: { type: "integer", default: 10 },
      strategy: filled({
        type: { type: "string", default: "RollingUpdate" },
        rollingUpdate: filled({
          maxSurge: { "x-kubernetes-int-or-string": true, default: "25%" },
          maxUnavailable: { "x-kubernetes-int-or-string": true, default: "25%" }
        })
      }),
      template: open({
        spec: open({
          restartPolicy: { type: "string", default: "Always" },
          dnsPolicy: { type: "string", default: "ClusterFirst" },
          schedulerName: { type: "string", default: "default-scheduler" },
          terminationGracePeriodSeconds: { type: "integer", default: 30 },
          containers: {
            type: "array",
            items: open({
              imagePullPolicy: { type: "string", default: "IfNotPresent" },
              terminationMessagePath: { type: "string", default: "/dev/termination-log" },
              terminationMessagePolicy: { type: "string", default: "File" }
            })
          }
        })
      })
    }),
    status: open({})
  })
}

/** `settles` is how long a workload takes until it runs. */
export const layer = (settles: Duration.Input) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const controller = yield* Controller.Controller
    const kinds = yield* Kinds
    yield* kinds.declare(deployment)
    for (const [name, statusOf] of Object.entries(statuses)) {
      const [apiVersion, kindName] = name.split(" ")
      const kind = yield* kinds.of(apiVersion, kindName)
      yield* controller.register(Reconciler.make(kind, {
        name: `cluster/${kind.groupKind}`,
        reconcile: Effect.fnUntraced(function*(request) {
          const object = yield* Store.get(kind, request)
          const generation = object.metadata.generation ?? 1
          const before = fieldOf(object, "status")
          if (before["observedGeneration"] !== generation) {
            yield* Store.updateStatus(kind, object, { ...before, observedGeneration: generation })
            return Outcome.requeueAfter(settles)
          }
          yield* Store.updateStatus(kind, object, { ...statusOf(object), observedGeneration: generation })
          return Outcome.done
        })
      }))
    }
  }))
