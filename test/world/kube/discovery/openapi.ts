import { createHash } from 'node:crypto';
import type { ApiResource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ResourceRegistry } from '../storage/resource-registry.ts';
import { groupsOf, type ServedVersion } from './groups.ts';
import { openApiPaths } from './openapi-paths.ts';
import { openApiSchemas, sharedSchemas } from './openapi-schemas.ts';

/** The part of OpenAPI that `kubectl explain` and kubectl's validation read. */

interface ResourceDocument {
  readonly paths: JsonObject;
  readonly schemas: JsonObject;
  readonly hash: string;
}

const documentCache = new WeakMap<ApiResource, ResourceDocument>();

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').toUpperCase();

function documentOf(resource: ApiResource): ResourceDocument {
  const before = documentCache.get(resource);
  if (before) return before;
  const paths = openApiPaths(resource);
  const schemas = openApiSchemas(resource);
  const made = { paths, schemas, hash: digest(JSON.stringify([paths, schemas])) };
  documentCache.set(resource, made);
  return made;
}

const hashOf = ({ resources }: ServedVersion): string => digest(resources.map((one) => documentOf(one).hash).join());

/** Versions by the path of their document, e.g. `apis/apps/v1`. */
const documents = (registry: ResourceRegistry): Map<string, ServedVersion> =>
  new Map(
    groupsOf(registry).flatMap(({ name, versions }) =>
      versions.map((version) => [`${name ? `apis/${name}` : 'api'}/${version.name}`, version] as const),
    ),
  );

/** The location of the document of each group and version; its hash changes with the document. */
export function openApiV3Index(registry: ResourceRegistry): JsonObject {
  const paths = [...documents(registry)].map(([path, version]) => [
    path,
    { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(version)}` },
  ]);
  return { paths: Object.fromEntries(paths) };
}

/** The document of one group and version, or undefined for an unknown one. */
export function openApiV3(registry: ResourceRegistry, path: string): JsonObject | undefined {
  const version = documents(registry).get(path);
  if (!version) return undefined;
  const parts = version.resources.map(documentOf);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths: Object.assign({}, ...parts.map((part) => part.paths)),
    components: { schemas: Object.assign({ ...sharedSchemas() }, ...parts.map((part) => part.schemas)) },
  };
}

/** All definitions as one Swagger 2 document, for old clients. */
export function openApiV2(registry: ResourceRegistry, gitVersion: string): JsonObject {
  const parts = [...documents(registry).values()].flatMap(({ resources }) => resources.map(documentOf));
  const definitions = Object.assign({ ...sharedSchemas() }, ...parts.map((part) => part.schemas));
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths: {},
    definitions: JSON.parse(JSON.stringify(definitions).replaceAll('#/components/schemas/', '#/definitions/')),
  };
}
