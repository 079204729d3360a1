import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Body } from './raw-kube-client.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import { installCrd } from './widgets.ts';

const folder = join(import.meta.dirname, '../../../config/crd');

/** The definitions that this project ships, with their files. */
export const shippedCrds: readonly (readonly [file: string, definition: Body])[] = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => [`config/crd/${file}`, parse(readFileSync(join(folder, file), 'utf8'))]);

const copies = new WeakMap<ServerUnderTest, Map<string, Promise<string>>>();

/** Installs a copy of a definition in the group of this suite, once. Returns the path of its collection. */
export function installCrdCopy(server: ServerUnderTest, definition: Body): Promise<string> {
  const known = copies.get(server) ?? new Map<string, Promise<string>>();
  copies.set(server, known);
  const { kind } = definition.spec.names;
  const path = known.get(kind) ?? installCrd(server, copyCrd(server, definition));
  known.set(kind, path);
  return path;
}

/** In the group of this suite: an external server may have the same kinds in use. */
export function copyCrd(server: ServerUnderTest, definition: Body): Body {
  const { shortNames: _short, categories: _categories, ...names } = definition.spec.names;
  return {
    apiVersion: definition.apiVersion,
    kind: definition.kind,
    metadata: { name: `${names.plural}.${server.group}` },
    spec: { ...definition.spec, group: server.group, names },
  };
}

/** One CEL rule of a definition. */
export interface CelRule {
  readonly kind: string;
  /** Its path, e.g. `.spec.talos.version`; items are `[]`, values of maps `.*`, and the root is empty. */
  readonly path: string;
  readonly rule: string;
  readonly message: string;
}

/** Every rule of a definition, in all its versions. */
export const celRulesOf = (definition: Body): CelRule[] =>
  definition.spec.versions.flatMap((version: Body) =>
    [...walkSchema(version.schema.openAPIV3Schema, '')].flatMap(([path, node]) =>
      (node['x-kubernetes-validations'] ?? []).map(({ rule, message }: Body) => ({
        kind: definition.spec.names.kind,
        ...{ path, rule, message },
      })),
    ),
  );

function* walkSchema(node: Body, path: string): Generator<[path: string, node: Body]> {
  yield [path, node];
  for (const [name, child] of Object.entries(node.properties ?? {})) yield* walkSchema(child, `${path}.${name}`);
  if (node.items) yield* walkSchema(node.items, `${path}[]`);
  if (typeof node.additionalProperties === 'object') yield* walkSchema(node.additionalProperties, `${path}.*`);
}
