import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { decodeSecretData } from '../../controllers/shared/secrets/platform-credentials.ts';
import type { ListOptions, ObjectList } from '../../kube/client/client-types.ts';
import { Secret as KubeSecret } from '../../kube/core-types.ts';
import { apiVersionOf, type KubeObject, type ObjectKey, type ResourceType } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString, type SecretStrings } from '../../lib/secret-string.ts';

/**
 * Objects of a file, with the read API of a platform cluster. An object that the file does not contain does not exist.
 */
export class FileObjectReader {
  readonly #objects: readonly KubeObject[];

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects;
  }

  async find<T extends KubeObject>(type: ResourceType<T>, { namespace, name }: ObjectKey): Promise<T | undefined> {
    const { items } = await this.list(type, { namespace });
    return items.find(({ metadata }) => metadata.name === name);
  }

  /** Selectors support `label=value` only. */
  async list<T extends KubeObject>(
    type: ResourceType<T>,
    { namespace, labelSelector }: ListOptions = {},
  ): Promise<ObjectList<T>> {
    const [label = '', value] = labelSelector?.split('=') ?? [];
    const items = this.#objects.filter(
      ({ apiVersion, kind, metadata }) =>
        apiVersion === apiVersionOf(type) &&
        kind === type.kind &&
        (namespace === undefined || (metadata.namespace ?? namespace) === namespace) &&
        (value === undefined || metadata.labels?.[label] === value),
    );
    return { items: items as T[], resourceVersion: '' };
  }
}

/** The objects of a YAML or JSON file, in their order. Throws CONFIG_INVALID, with the line. */
export async function readObjectFile(path: string, flag: string): Promise<readonly KubeObject[]> {
  const documents = parseAllDocuments(await readTextFile(path, flag));
  if ('empty' in documents) throw configInvalid(`${flag}: ${path} is empty.`);
  return documents.flatMap((document, i) => {
    const [error] = document.errors;
    // Only its first line: the rest quotes a part of the file.
    if (error) throw configInvalid(`${flag}: ${path} is not valid YAML: ${error.message.split('\n')[0]}`);
    const object: unknown = document.toJS();
    if (object === null) return [];
    if (isKubeObject(object)) return [object];
    throw configInvalid(`${flag}: document ${i + 1} of ${path} has no apiVersion, kind and metadata.name.`);
  });
}

function isKubeObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const name = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata.name : undefined;
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof name === 'string';
}

async function readTextFile(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw configInvalid(`${flag}: ${path} cannot be read.`, cause);
  }
}

const configInvalid = (detail: string, cause?: unknown): ProviderError =>
  new ProviderError('CONFIG_INVALID', detail, { cause });

const credentialsPrefix = 'CREDENTIALS_';

/** `CREDENTIALS_API_KEY` is the key `apiKey` of the platform's Secret. */
export function credentialsFromEnvironment(environment: Readonly<Record<string, string | undefined>>): SecretStrings {
  const own = Object.entries(environment).filter(([name, value]) => name.startsWith(credentialsPrefix) && value);
  return Object.fromEntries(
    own.map(([name, value = '']) => [toSecretKey(name.slice(credentialsPrefix.length)), new SecretString(value)]),
  );
}

const toSecretKey = (text: string): string =>
  text
    .toLowerCase()
    .replace(/_{2,}/g, '_')
    .replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The values of a Secret that users wrote: encoded, in plain text, or both. */
export function credentialsFromSecret(
  object: KubeSecret & { readonly stringData?: Readonly<Record<string, unknown>> },
): SecretStrings {
  const encoded = Object.entries(object.data ?? {}).map(([key, value]) => [key, String(value)]);
  const plain = Object.entries(object.stringData ?? {}).map(([key, value]) => [
    key,
    new SecretString(String(value).trim()),
  ]);
  return { ...decodeSecretData({ data: Object.fromEntries(encoded) }), ...Object.fromEntries(plain) };
}

/**
 * The keys of a Secret, from a file with the Secret or from a folder with a file for each key, like a mounted Secret
 * volume.
 */
export async function readCredentialsFromPath(path: string): Promise<SecretStrings> {
  const flag = '--credentials-file';
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) {
    // A mounted volume has folders and links of its own next to the keys: ..data.
    const names = (await readdir(path)).filter((name) => !name.startsWith('.'));
    const read = async (name: string) =>
      [name, new SecretString((await readTextFile(join(path, name), flag)).trim())] as const;
    return Object.fromEntries(await Promise.all(names.map(read)));
  }
  const [secret, ...more] = (await new FileObjectReader(await readObjectFile(path, flag)).list(KubeSecret)).items;
  if (!secret || more.length > 0) throw configInvalid(`${flag}: ${path} must contain exactly one Secret.`);
  return credentialsFromSecret(secret);
}
