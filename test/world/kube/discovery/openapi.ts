import { createHash } from 'node:crypto';
import type { Resource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { Registry } from '../registry.ts';
import { groupsOf, type ServedVersion } from './groups.ts';
import { openApiPaths } from './openapi-paths.ts';
import { openApiSchemas, sharedSchemas } from './openapi-schemas.ts';

/** OpenAPI, as far as `kubectl explain` and kubectl's validation look into it. */

interface Part {
  readonly paths: JsonObject;
  readonly schemas: JsonObject;
  readonly hash: string;
}

const known = new WeakMap<Resource, Part>();

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').toUpperCase();

function partOf(resource: Resource): Part {
  const before = known.get(resource);
  if (before) return before;
  const paths = openApiPaths(resource);
  const schemas = openApiSchemas(resource);
  const made = { paths, schemas, hash: digest(JSON.stringify([paths, schemas])) };
  known.set(resource, made);
  return made;
}

const hashOf = ({ resources }: ServedVersion): string => digest(resources.map((one) => partOf(one).hash).join());

/** Versions by the path of their document, e.g. `apis/apps/v1`. */
const documents = (registry: Registry): Map<string, ServedVersion> =>
  new Map(
    groupsOf(registry).flatMap(({ name, versions }) =>
      versions.map((version) => [`${name ? `apis/${name}` : 'api'}/${version.name}`, version] as const),
    ),
  );

/** Where the document of each group and version is found; the hash changes when the document does. */
export function openApiV3Index(registry: Registry): JsonObject {
  const paths = [...documents(registry)].map(([path, version]) => [
    path,
    { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(version)}` },
  ]);
  return { paths: Object.fromEntries(paths) };
}

/** The document of one group and version, or undefined when nobody serves it. */
export function openApiV3(registry: Registry, path: string): JsonObject | undefined {
  const version = documents(registry).get(path);
  if (!version) return undefined;
  const parts = version.resources.map(partOf);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths: Object.assign({}, ...parts.map((part) => part.paths)),
    components: { schemas: Object.assign({ ...sharedSchemas() }, ...parts.map((part) => part.schemas)) },
  };
}

/** Everything as one Swagger 2 document: definitions only, for those that still read it. */
export function openApiV2(registry: Registry, gitVersion: string): JsonObject {
  const parts = [...documents(registry).values()].flatMap(({ resources }) => resources.map(partOf));
  const definitions = Object.assign({ ...sharedSchemas() }, ...parts.map((part) => part.schemas));
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths: {},
    definitions: JSON.parse(JSON.stringify(definitions).replaceAll('#/components/schemas/', '#/definitions/')),
  };
}
