/**
 * What a folder of manifests asks for, as pure rules: which services to write, which to delete, what is wrong.
 */
import * as Result from "effect/Result"
import type { Kind } from "setpoint"
import { Service } from "./Kinds.ts"
import * as Manifest from "./Manifest.ts"

/** Says of a service which file declared it; only services that bear it are changed or deleted. */
export const sourceAnnotation = "fleet.example.dev/source"

export interface Wanted {
  readonly name: string
  /** The revision that is there, if one is. */
  readonly revision: string | undefined
  readonly input: Kind.Input<Service>
  readonly manifest: Manifest.Manifest
}

export interface Plan {
  readonly write: ReadonlyArray<Wanted>
  readonly remove: ReadonlyArray<Service>
  readonly problems: ReadonlyArray<Manifest.Problem>
}

/** Which files of a folder are manifests. */
export const isManifest = (file: string): boolean => /^[^.].*\.(yaml|yml|json)$/.test(file)

/**
 * - A name that two manifests declare is the first one's: files in the order of their names, documents as they stand.
 * - A service that no manifest declared is left alone, and a manifest of its name is a problem.
 * - A service goes when its file no longer declares it; while anything is wrong in the file, nothing of it goes.
 */
export const plan = (
  files: ReadonlyMap<string, Manifest.File>,
  services: ReadonlyArray<Service>,
  place: (directory: string | undefined) => string
): Plan => {
  const present = new Map(services.map((service) => [service.metadata.name, service]))
  const wanted = new Map<string, Wanted>()
  const problems: Array<Manifest.Problem> = []
  for (const [, file] of [...files].toSorted(([a], [b]) => a < b ? -1 : 1)) {
    problems.push(...file.problems)
    for (const manifest of file.manifests) {
      const decoded = Manifest.decode(Service, manifest)
      if (Result.isFailure(decoded)) {
        problems.push(...decoded.failure)
        continue
      }
      const input = decoded.success
      const name = input.metadata.name ?? ""
      const twin = wanted.get(name)
      const existing = present.get(name)
      if (twin !== undefined) {
        problems.push(manifest.problem("metadata.name", `${name} is declared in ${twin.manifest.file} already`))
      } else if (existing !== undefined && sourceOf(existing) === undefined) {
        const why = `a Service ${name} is there that no manifest declared; it is left alone`
        problems.push(manifest.problem("metadata.name", why))
      } else {
        wanted.set(name, {
          name,
          revision: existing?.metadata.resourceVersion,
          input: complete(name, input, manifest.file, place),
          manifest
        })
      }
    }
  }
  const spoilt = new Set(problems.map((problem) => problem.file))
  const remove = services.filter((service) => {
    const source = sourceOf(service)
    return source !== undefined && !wanted.has(service.metadata.name) && !spoilt.has(source)
  })
  return { write: [...wanted.values()], remove, problems }
}

const sourceOf = (service: Service): string | undefined => service.metadata.annotations?.[sourceAnnotation]

const complete = (
  name: string,
  input: Kind.Input<Service>,
  file: string,
  place: (directory: string | undefined) => string
): Kind.Input<Service> => ({
  ...input,
  metadata: {
    name,
    ...(input.metadata.labels === undefined ? {} : { labels: input.metadata.labels }),
    annotations: { ...input.metadata.annotations, [sourceAnnotation]: file }
  },
  spec: { ...input.spec, directory: place(input.spec.directory) }
})
