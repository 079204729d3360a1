import { isDeepStrictEqual } from 'node:util';
import type { ChangeClass } from '../../../engine/change-class.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { isRecord } from '../config-document.ts';
import { readConfigYaml } from '../edit/config-yaml.ts';
import { classifyChange } from './change-class.ts';
import { withoutEmptyFields } from './empty-fields.ts';

/** One difference between the configuration of a node and its desired one. It never contains a value. */
export interface ConfigChange {
  /** Path in the main document, e.g. `machine.nodeLabels.disk`, or kind and name of another document. */
  readonly field: string;
  readonly class: ChangeClass;
}

type Documents = ReadonlyMap<string, unknown>;

/** Maximum depth of the fields that are named. */
const maxDepth = 4;

/**
 * The differences between two configurations, regardless of format, order of keys and what talosctl adds. Empty: they have the same
 * content. Throws TALOS_CALL_FAILED if the node's configuration cannot be read.
 */
export function listConfigChanges(present: SecretString, desired: SecretString): ConfigChange[] {
  // A node keeps the text that it was given.
  if (present.reveal() === desired.reveal()) return [];
  const [before, after] = [parseDocuments(present), parseDocuments(desired)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const fields = names.flatMap((name) =>
    name === mainDocument
      ? listDifferences(before.get(name), after.get(name), [])
      : listDocumentDifferences(name, before.get(name), after.get(name)),
  );
  return fields.map((field) => ({ field, class: classifyChange(field) }));
}

const mainDocument = 'v1alpha1';

/** The documents by kind and name. */
const parseDocuments = (config: SecretString): Documents =>
  new Map(
    readConfigYaml(config)
      .map((document) => document.toJS())
      .map((content) => [documentName(content), withoutEmptyFields(documentName(content), content)]),
  );

function documentName(content: unknown): string {
  if (!isRecord(content) || content['kind'] === undefined) return mainDocument;
  return [content['kind'], content['name'], content['type']].filter((part) => part !== undefined).join(' ');
}

/** Another document is named as a whole, except for the image of a component of Kubernetes. */
function listDocumentDifferences(name: string, before: unknown, after: unknown): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  const image = `${name}.image`;
  const isComponent = classifyChange(image) === 'kubernetes' && isRecord(before) && isRecord(after);
  if (!isComponent || before['image'] === after['image']) return [name];
  return isDeepStrictEqual({ ...before, image }, { ...after, image }) ? [image] : [image, name];
}

/** The paths at which two values differ. A map that one side lacks is named by its keys. */
function listDifferences(before: unknown, after: unknown, path: readonly string[]): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  const isLeaf = ![before, after].every((value) => value === undefined || isRecord(value));
  const [left, right] = [before, after].map((value) => (isRecord(value) ? value : {})) as [Fields, Fields];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  if (isLeaf || keys.length === 0 || path.length >= maxDepth) return [path.join('.')];
  return keys.flatMap((key) => listDifferences(left[key], right[key], [...path, key]));
}

type Fields = Readonly<Record<string, unknown>>;
