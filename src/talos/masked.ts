import { isCollection, isMap, isScalar, isSeq, type Pair, Scalar, visit } from 'yaml';
import type { Secret } from '../lib/secret.ts';
import { readDocuments, writeDocuments } from './config/edit.ts';
import { standInText } from './stand-in.ts';

const shown = { made: '(made with the cluster)', secret: '(secret)', content: '(not shown)' } as const;

const secretName = /secret|token|passw|passphrase|privatekey|presharedkey|^psk$|credential|^auth$|authkey|^identity$/i;
const contentName = /^contents?$/;
/** What holds variables, headers and arguments of any name. */
const variablesName = /^(env|environment|variables|headers|extraManifestHeaders|args)$/;
const secretVariable = /secret|token|passw|key/i;
const standIns = new Set([standInText, Buffer.from(standInText).toString('base64')]);

/**
 * A machine configuration for people to read: what is made with a cluster is named so, and nothing is shown of what patches
 * hold under a name that secrets have, be it a text, a list or an object, in files and manifests, in variables and headers,
 * and before the @ of URLs. Rather too much is hidden than too little.
 */
export function masked(config: Secret): string {
  const documents = readDocuments(config);
  for (const document of documents) {
    visit(document, {
      // It could stand for what is hidden where it was written.
      Alias: () => plain(shown.content),
      Pair: (_, pair, path) => maskPair(pair, siblingsOf(path.at(-1))),
      Scalar: (_, scalar) => {
        if (typeof scalar.value === 'string') scalar.value = withoutQuery(withoutLogin(withoutVariable(scalar.value)));
      },
    });
  }
  return writeDocuments(documents).reveal();
}

function plain(text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.type = 'PLAIN';
  return scalar;
}

function maskPair(pair: Pair, siblings: readonly string[]): void {
  const name = String(pair.key);
  if (isSecretName(name, siblings)) pair.value = hideSecret(pair.value);
  else if (contentName.test(name)) pair.value = hide(pair.value, shown.content);
  else if (variablesName.test(name)) pair.value = hideVariables(pair.value);
  else if (isScalar(pair.value) && standIns.has(String(pair.value.value))) pair.value = plain(shown.made);
}

/** Taints and tolerations have keys, too. */
const isSecretName = (name: string, siblings: readonly string[]): boolean =>
  secretName.test(name) || (name === 'key' && !siblings.some((sibling) => ['effect', 'operator'].includes(sibling)));

/** Also a list, an object or an alias: whatever is below belongs to it. */
const hideSecret = (value: unknown): unknown => hide(value, shown.secret);

function hide(value: unknown, by: string): unknown {
  if (value === null || value === undefined) return value;
  const text = isScalar(value) ? String(value.value ?? '') : undefined;
  if (text === '') return value;
  return plain(text !== undefined && standIns.has(text) ? shown.made : by);
}

/** Their names stay, for people to compare. */
function hideVariables(value: unknown): unknown {
  if (isMap(value)) {
    for (const pair of value.items) pair.value = hide(pair.value, shown.content);
    return value;
  }
  if (isSeq(value)) {
    value.items = value.items.map((item) =>
      isScalar(item) ? plain(withoutValue(String(item.value))) : hide(item, shown.content),
    );
    return value;
  }
  return isCollection(value) || isScalar(value) ? hide(value, shown.content) : value;
}

const siblingsOf = (parent: unknown): string[] => (isMap(parent) ? parent.items.map(({ key }) => String(key)) : []);

/** `NAME=(not shown)` */
function withoutValue(text: string): string {
  const name = nameBefore(text);
  return name === undefined ? shown.content : `${name}=${shown.content}`;
}

/** `TS_AUTHKEY=…` or `--token=…`, as services are given their variables. */
function withoutVariable(text: string): string {
  const name = nameBefore(text);
  return name !== undefined && secretVariable.test(name) ? `${name}=${shown.secret}` : text;
}

/** The name of a variable or a flag before the first `=`. */
function nameBefore(text: string): string | undefined {
  const end = text.indexOf('=');
  const name = text.slice(0, Math.max(end, 0));
  return end > 0 && /^[\w-]+$/.test(name) ? name : undefined;
}

/** `https://user:password@host`, also where the password has an @. */
const withoutLogin = (text: string): string => text.replace(/(:\/\/)[^/\s]+@/g, `$1${shown.secret}@`);

/** `?jointoken=…`, also behind the first parameter. */
const withoutQuery = (text: string): string =>
  text.includes('://')
    ? text.replace(/([?&])([^?&=\s]+)=([^?&\s]+)/g, (all, mark: string, name: string) =>
        secretVariable.test(name) ? `${mark}${name}=${shown.secret}` : all,
      )
    : text;
