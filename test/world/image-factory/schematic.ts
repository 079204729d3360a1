import { createHash } from 'node:crypto';
import { parse, YAMLParseError } from 'yaml';
import { toGoYaml } from './go-yaml.ts';

/** The fields of a schematic, in the order of the canonical form (image-factory: pkg/schematic/schematic.go). */
export interface ParsedSchematic {
  readonly id: string;
  readonly canonical: string;
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** A schematic that the factory refuses; the text is the body of its 400. */
export class InvalidSchematic extends Error {}

type SchematicShape =
  | 'string'
  | 'strings'
  | 'bool'
  | 'number'
  | 'map'
  | 'meta'
  | 'bootloader'
  | { readonly [key: string]: SchematicShape };

const schematicShape = {
  owner: 'string',
  overlay: { image: 'string', name: 'string', options: 'map' },
  customization: {
    embeddedMachineConfiguration: 'string',
    extraKernelArgs: 'strings',
    meta: 'meta',
    systemExtensions: { officialExtensions: 'strings' },
    bootloader: 'bootloader',
    secureboot: { enrollKeys: 'string', includeWellKnownCertificates: 'bool' },
    diskImage: { sectorSize: 'number' },
  },
} as const satisfies SchematicShape;

/** Parses a schematic strictly and computes its id. Throws {@link InvalidSchematic}. */
export function parseSchematic(text: string): ParsedSchematic {
  const value = readYaml(text);
  if (isMap(value) && typeof value['owner'] === 'string' && value['owner'] !== '') {
    throw new InvalidSchematic('owner field is only supported in Enterprise edition');
  }
  const ordered = canonicalize(value, schematicShape, 'Schematic') as Readonly<Record<string, unknown>> | undefined;
  const customization = (ordered?.['customization'] ?? {}) as Readonly<Record<string, unknown>>;
  const canonical = toGoYaml({ ...ordered, customization });
  const extensions = (customization['systemExtensions'] as { officialExtensions?: string[] } | undefined)
    ?.officialExtensions;
  return {
    id: createHash('sha256').update(canonical).digest('hex'),
    canonical,
    extensions: extensions ?? [],
    kernelArguments: (customization['extraKernelArgs'] as string[] | undefined) ?? [],
  };
}

function readYaml(text: string): unknown {
  if (text.trim() === '') throw new InvalidSchematic('EOF');
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) throw new InvalidSchematic(`yaml: ${error.message}`);
    throw error;
  }
}

/** The value with its keys in canonical order and without empty fields; undefined when nothing remains. */
function canonicalize(value: unknown, wanted: SchematicShape, type: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof wanted === 'string') return canonicalScalar(value, wanted, type);
  if (!isMap(value)) throw mismatch(value, `schematic.${type}`);
  for (const key of Object.keys(value)) {
    if (!(key in wanted)) {
      throw new InvalidSchematic(`yaml: unmarshal errors:\n  line 1: field ${key} not found in type schematic.${type}`);
    }
  }
  const isOverlay = type === 'Overlay';
  const entries = Object.entries(wanted)
    .map(([key, inner]) => [key, canonicalize(value[key], inner, key[0]?.toUpperCase() + key.slice(1))] as const)
    .filter(([, inner]) => inner !== undefined);
  if (entries.length === 0) return undefined;
  const result = Object.fromEntries(entries);
  // An overlay is written with its image and name even when one of them is empty.
  return isOverlay ? { image: '', name: '', ...result } : result;
}

function canonicalScalar(value: unknown, wanted: Extract<SchematicShape, string>, type: string): unknown {
  switch (wanted) {
    case 'string':
      if (typeof value !== 'string') throw mismatch(value, 'string');
      return value === '' ? undefined : value;
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(value, 'bool');
      return value || undefined;
    case 'number':
      if (typeof value !== 'number') throw mismatch(value, 'uint');
      return value || undefined;
    case 'map':
      if (!isMap(value)) throw mismatch(value, 'map[string]any');
      return Object.keys(value).length === 0 ? undefined : Object.fromEntries(Object.entries(value).sort());
    case 'strings':
      if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) throw mismatch(value, '[]string');
      return value.length === 0 ? undefined : value;
    case 'bootloader':
      return bootLoader(value);
    case 'meta':
      if (!Array.isArray(value)) throw mismatch(value, '[]schematic.MetaValue');
      return value.length === 0 ? undefined : value.map((item) => metaValue(item, type));
  }
}

/** Parsed like enumer: case-insensitive; the first is the zero value, which is omitted. */
const bootLoaders = ['none', 'dual-boot', 'sd-boot', 'grub'];

function bootLoader(value: unknown): string | undefined {
  if (typeof value !== 'string') throw mismatch(value, 'imageropts.BootloaderKind');
  const index = bootLoaders.indexOf(value.toLowerCase());
  if (index < 0) throw new InvalidSchematic(`${value} does not belong to BootloaderKind values`);
  return index === 0 ? undefined : bootLoaders[index];
}

function metaValue(item: unknown, type: string): unknown {
  if (!isMap(item) || Object.keys(item).some((key) => key !== 'key' && key !== 'value')) {
    throw mismatch(item, `schematic.${type}Value`);
  }
  const { key = 0, value = '' } = item;
  if (typeof key !== 'number' || !Number.isInteger(key) || key < 0 || key > 255) throw mismatch(key, 'uint8');
  if (typeof value !== 'string') throw mismatch(value, 'string');
  return { key, value };
}

function mismatch(value: unknown, type: string): InvalidSchematic {
  const shown = JSON.stringify(value);
  return new InvalidSchematic(`yaml: unmarshal errors:\n  line 1: cannot unmarshal ${shown} into ${type}`);
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
