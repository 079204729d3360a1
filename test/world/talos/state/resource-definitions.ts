import { bytesField } from './protobuf.ts';
import { printColumns, resourceTypes } from './resource-types.ts';
import type { CosiState } from './resources.ts';

/** The definition of one resource type. */
export interface ResourceDefinition {
  readonly type: string;
  readonly namespace: string;
  readonly sensitive: boolean;
  readonly aliases: readonly string[];
}

export const resourceDefinitions: ReadonlyMap<string, ResourceDefinition> = new Map(
  [
    ...Object.entries(resourceTypes).flatMap(([namespace, rows]) => rows.map((row) => toDefinition(namespace, row))),
    toDefinition('meta', 'Namespaces.meta.cosi.dev ns'),
    toDefinition('meta', 'ResourceDefinitions.meta.cosi.dev api-resources'),
  ].map((definition) => [definition.type, definition]),
);

/** Types that Talos 1.14 adds to those of 1.13, as far as clients here read them. */
export const resourceDefinitionsSince114: ReadonlyMap<string, ResourceDefinition> = new Map(
  ['!AuthenticationConfigs.kubernetes.talos.dev']
    .map((row) => toDefinition('controlplane', row))
    .map((definition) => [definition.type, definition]),
);

/** Existing namespaces; a request for another one is refused. */
export const namespaces: ReadonlySet<string> = new Set([
  ...[...resourceDefinitions.values()].map((definition) => definition.namespace),
  'network-config',
  'cluster-raw',
]);

function toDefinition(namespace: string, row: string): ResourceDefinition {
  const [word = '', ...aliases] = row.split(' ');
  return { type: word.replace('!', ''), namespace, sensitive: word.startsWith('!'), aliases };
}

/** Fills `meta` with the definitions, in the protobuf form that talosctl decodes (cosi runtime: api/v1alpha1/meta.proto). */
export function putResourceDefinitions(resources: CosiState): void {
  if (resources.list('meta', 'ResourceDefinitions.meta.cosi.dev').length > 0) return;
  for (const namespace of namespaces) resources.put('meta', 'Namespaces.meta.cosi.dev', namespace, { description: '' });
  for (const definition of resourceDefinitions.values()) {
    const name = definition.type.split('.')[0] ?? '';
    const display = singular(name);
    const aliases = aliasesOf(definition, name, display);
    const suffix = definition.type.slice(name.length + 1).split('.');
    const all = [
      name.toLowerCase(),
      ...suffix.slice(1).map((_, index) => [name.toLowerCase(), ...suffix.slice(0, index + 1)].join('.')),
      ...aliases,
    ];
    const printed = printColumns[name] ?? [];
    const proto = Buffer.concat([
      bytesField(1, definition.type),
      bytesField(2, display),
      bytesField(3, definition.namespace),
      ...aliases.map((alias) => bytesField(4, alias)),
      ...all.map((alias) => bytesField(5, alias)),
      ...printed.map(([title, path]) => bytesField(6, Buffer.concat([bytesField(1, title), bytesField(2, path)]))),
      ...(definition.sensitive ? [Buffer.from([7 << 3, 1])] : []),
    ]);
    const spec = {
      type: definition.type,
      displayType: display,
      defaultNamespace: definition.namespace,
      aliases,
      allAliases: all,
      printColumns: printed.map(([title, jsonPath]) => ({ name: title, jsonPath })),
      ...(definition.sensitive ? { sensitivity: 'sensitive' } : {}),
    };
    resources.put('meta', 'ResourceDefinitions.meta.cosi.dev', definition.type.toLowerCase(), spec, { proto });
  }
}

/** The aliases of every type: its singular, and its capitals (`MachineStatuses` → `ms`). */
function aliasesOf(definition: ResourceDefinition, name: string, display: string): string[] {
  const capitals = name.replace(/[^A-Z]/g, '').toLowerCase();
  const short = capitals.length > 1 ? [capitals, ...(capitals.endsWith('s') ? [] : [`${capitals}s`])] : [];
  return [...definition.aliases, display.toLowerCase(), ...short];
}

function singular(name: string): string {
  if (/(?:Statuse|Addresse|Proxie|Identitie|Cache)s$/.test(name)) {
    return name
      .replace(/ities$/, 'ity')
      .replace(/xies$/, 'xy')
      .replace(/sses$/, 'ss')
      .replace(/uses$/, 'us')
      .replace(/ches$/, 'che');
  }
  return name.replace(/ies$/, 'y').replace(/s$/, '');
}
