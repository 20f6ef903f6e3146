/** Names that kinds and kro have fixed. */

/** The group of the definitions, and of the kinds that they make where they name none. */
export const group = "kro.run"

export const finalizer = "kro.run/finalizer"

/** On an instance: `suspended` keeps it as it is. */
export const reconcileAnnotation = "kro.run/reconcile"

/** Who applies the children: stable, so that fields that a new definition no longer sets are taken away. */
export const manager = "kro"

export const labels = {
  owned: "kro.run/owned",
  definition: "kro.run/resource-graph-definition-name",
  definitionId: "kro.run/resource-graph-definition-id",
  instanceId: "kro.run/instance-id",
  instanceName: "kro.run/instance-name",
  instanceNamespace: "kro.run/instance-namespace",
  instanceGroup: "kro.run/instance-group",
  instanceKind: "kro.run/instance-kind",
  node: "kro.run/node-id",
  index: "kro.run/collection-index",
  size: "kro.run/collection-size"
} as const

/** Kinds of Kubernetes that stand in no namespace. A store without Kubernetes has nobody to ask. */
const clusterScoped = new Set([
  "APIService.apiregistration.k8s.io",
  "CSIDriver.storage.k8s.io",
  "ClusterRole.rbac.authorization.k8s.io",
  "ClusterRoleBinding.rbac.authorization.k8s.io",
  "CustomResourceDefinition.apiextensions.k8s.io",
  "IngressClass.networking.k8s.io",
  "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  "Namespace",
  "Node",
  "PersistentVolume",
  "PriorityClass.scheduling.k8s.io",
  "ResourceGraphDefinition.kro.run",
  "RuntimeClass.node.k8s.io",
  "StorageClass.storage.k8s.io",
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io"
])

export const groupOf = (apiVersion: string): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : ""

export const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)

/** `Deployment.apps`: a kind without its version. */
export const groupKind = (apiVersion: string, kind: string): string => {
  const group = groupOf(apiVersion)
  return group === "" ? kind : `${kind}.${group}`
}

export const isClusterScoped = (apiVersion: string, kind: string): boolean =>
  clusterScoped.has(groupKind(apiVersion, kind))

/** Words that CEL keeps for itself. */
const celWords =
  "true false null in as break const continue else for function if import let loop package namespace return var void while"

/** Words that kro keeps, for what it puts into expressions or may put there later. */
const kroWords =
  "apiVersion context dependency dependencies each externalRef externalReference externalRefs externalReferences graph " +
  "instance item items kind kro metadata namespace object resource resourcegraphdefinition resourceGraphDefinition " +
  "resources root runtime schema self serviceAccountName spec status this variables vars version"

const reserved = new Set([...celWords.split(" "), ...kroWords.split(" ")])

/** What is wrong with the name of a resource or an iterator; `undefined` where nothing is. */
export const checkId = (id: string): string | undefined => {
  if (!/^[a-z][a-zA-Z0-9]*$/.test(id)) return `${JSON.stringify(id)} is no name; write it like webServer`
  return reserved.has(id) ? `${JSON.stringify(id)} is reserved; choose another name` : undefined
}
