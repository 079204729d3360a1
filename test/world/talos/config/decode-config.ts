import {
  type Document,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  parseAllDocuments,
  stringify,
  type YAMLMap,
} from 'yaml';
import { ConfigError } from './config-error.ts';
import { findUnknownKeys, type ReadingContext, throwOnTypeMismatch } from './type-check.ts';
import { type StructShape, simulatedDocumentKinds, v1alpha1Document } from './value-shape.ts';

/** One document other than v1alpha1. */
export interface SimulatedConfigDocument {
  readonly kind: string;
  /** Empty for singleton kinds. */
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A machine configuration in a node's memory: decoded, not yet validated. */
export interface MachineConfig {
  readonly text: string;
  /** The v1alpha1 document; without it a configuration is not complete for boot. */
  readonly legacy: Readonly<Record<string, unknown>> | undefined;
  readonly documents: readonly SimulatedConfigDocument[];
}

const legacyRoots = ['machine', 'cluster', 'debug', 'persist'];

/**
 * Decodes the YAML stream as strictly as a node of Talos 1.`minor`. Throws a {@link ConfigError} with the node's own
 * message (talos: pkg/machinery/config/configloader/internal/decoder/decoder.go).
 */
export function decodeConfig(text: string, minor: number): MachineConfig {
  const seen = new Set<string>();
  const documents: SimulatedConfigDocument[] = [];
  let legacy: Record<string, unknown> | undefined;
  for (const { node, reading } of split(text, minor)) {
    const id = documentIdentity(node);
    const line = reading.lineOf(node);
    if (seen.has(id)) throw new ConfigError(`duplicate document ${id} is not allowed (line ${line})`);
    seen.add(id);
    try {
      checkDocument(node, reading);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new ConfigError(`error decoding document ${id} (line ${line}): ${error.message}`);
    }
    const { apiVersion: _apiVersion, kind, ...body } = node.toJS(reading.document) as Record<string, unknown>;
    if (kind === undefined) legacy = body;
    else documents.push({ kind: String(kind), name: textOf(node, 'name'), body });
  }
  if (seen.size === 0) throw new ConfigError('config not found');
  return { text, legacy, documents };
}

interface DocumentPart {
  readonly node: YAMLMap;
  readonly reading: ReadingContext;
}

function split(text: string, minor: number): DocumentPart[] {
  const found: DocumentPart[] = [];
  const lines = new LineCounter();
  const lineOf = (node: Node): number => lines.linePos(node.range?.[0] ?? 0).line;
  // Duplicate keys are reported later, in the decoder's own words.
  const documents = parseAllDocuments(text, { uniqueKeys: false, lineCounter: lines });
  for (const document of documents as Document[]) {
    const problem = document.errors[0];
    if (problem) throw new ConfigError(`decode error: yaml: ${problem.message.split('\n')[0]}`);
    const node = document.contents;
    if (node === null || (isScalar(node) && node.value === null)) continue;
    if (!isMap(node)) throw new ConfigError(`expected a YAML document at line ${lineOf(node)}`);
    found.push({ node, reading: { minor, document, lineOf } });
  }
  return found;
}

function checkDocument(node: YAMLMap, reading: ReadingContext): void {
  const kind = textOf(node, 'kind');
  const shape = shapeOf(node, kind, reading.minor);
  throwOnTypeMismatch(node, shape, reading, `${kind} to *${kind === '' ? 'v1alpha1.Config' : goTypeOf(kind)}`);
  const unknown = findUnknownKeys(node, shape, reading);
  if (unknown === undefined) return;
  throw new ConfigError(
    `unknown keys found during decoding:\n${stringify(unknown, { indent: 4, flowCollectionPadding: false })}`,
  );
}

function shapeOf(node: YAMLMap, kind: string, minor: number): StructShape {
  const version = legacyRoots.some((key) => node.has(key)) ? 'v1alpha1' : textOf(node, 'apiVersion');
  if (kind === '') {
    if (version !== 'v1alpha1') throw new ConfigError('missing kind');
    return v1alpha1Document;
  }
  if (version === '' && minor >= 13) throw new ConfigError('missing apiVersion');
  const known = simulatedDocumentKinds[kind];
  if (!known || known.since > minor || version !== 'v1alpha1') {
    throw new ConfigError(`"${kind}" "${version}": not registered`);
  }
  return { fields: { apiVersion: 'text', kind: 'text', ...known.shape.fields } };
}

/** The package of Talos that contains a kind; most kinds of a cluster configuration are network documents. */
const packages: readonly (readonly [RegExp, string])[] = [
  [/^Kube(?!Span)/, 'k8s'],
  [/Volume|^Zswap/, 'block'],
  [/^Registry/, 'cri'],
  [/^Environment|^EventSink|^KmsgLog|^Watchdog|^OOM/, 'runtime'],
  [/^TrustedRoots|^ImageVerification/, 'security'],
];

const goTypeOf = (kind: string): string =>
  `${packages.find(([pattern]) => pattern.test(kind))?.[1] ?? 'network'}.${kind}V1Alpha1`;

const documentIdentity = (node: YAMLMap): string =>
  `${textOf(node, 'apiVersion')}/${textOf(node, 'kind') || 'v1alpha1'}/${textOf(node, 'name')}`;

function textOf(node: YAMLMap, key: string): string {
  const value = node.get(key);
  return typeof value === 'string' ? value : '';
}
