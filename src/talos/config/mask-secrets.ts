import { isCollection, isMap, isScalar, isSeq, type Pair, Scalar, visit } from 'yaml';
import type { SecretString } from '../../lib/secret-string.ts';
import { placeholderText } from '../secrets/placeholder-bundle.ts';
import { formatConfigYaml, parseConfigYaml } from './edit/config-yaml.ts';

const maskTexts = { made: '(made with the cluster)', secret: '(secret)', content: '(not shown)' } as const;

const secretNamePattern =
  /secret|token|passw|passphrase|privatekey|presharedkey|^psk$|credential|^auth$|authkey|^identity$/i;
const contentNamePattern = /^contents?$/;
/** Keys that hold variables, headers and arguments with arbitrary names. */
const variablesNamePattern = /^(env|environment|variables|headers|extraManifestHeaders|args)$/;
const secretVariablePattern = /secret|token|passw|key/i;
const placeholderValues = new Set([placeholderText, Buffer.from(placeholderText).toString('base64')]);

/**
 * A machine configuration for users to read. Values that are created with a cluster are labelled as such. Values from
 * patches are hidden under secret-like names (texts, lists and objects), in files and manifests, in variables and
 * headers, and before the @ of URLs. The masking prefers to hide too much.
 */
export function maskSecrets(config: SecretString): string {
  const documents = parseConfigYaml(config);
  for (const document of documents) {
    visit(document, {
      // The alias may refer to a value that is hidden at its anchor.
      Alias: () => createPlainScalar(maskTexts.content),
      Pair: (_, pair, path) => maskPair(pair, siblingKeys(path.at(-1))),
      Scalar: (_, scalar) => {
        if (typeof scalar.value === 'string')
          scalar.value = maskUrlQuery(maskUrlLogin(maskSecretVariable(scalar.value)));
      },
    });
  }
  return formatConfigYaml(documents).reveal();
}

function createPlainScalar(text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.type = 'PLAIN';
  return scalar;
}

function maskPair(pair: Pair, siblings: readonly string[]): void {
  const name = String(pair.key);
  if (isSecretName(name, siblings)) pair.value = maskSecret(pair.value);
  else if (contentNamePattern.test(name)) pair.value = maskValue(pair.value, maskTexts.content);
  else if (variablesNamePattern.test(name)) pair.value = maskVariables(pair.value);
  else if (isScalar(pair.value) && placeholderValues.has(String(pair.value.value)))
    pair.value = createPlainScalar(maskTexts.made);
}

/** Taints and tolerations have the field `key`, too. */
const isSecretName = (name: string, siblings: readonly string[]): boolean =>
  secretNamePattern.test(name) ||
  (name === 'key' && !siblings.some((sibling) => ['effect', 'operator'].includes(sibling)));

/** Masks any value, also a list, an object or an alias, with all its content. */
const maskSecret = (value: unknown): unknown => maskValue(value, maskTexts.secret);

function maskValue(value: unknown, by: string): unknown {
  if (value === null || value === undefined) return value;
  const text = isScalar(value) ? String(value.value ?? '') : undefined;
  if (text === '') return value;
  return createPlainScalar(text !== undefined && placeholderValues.has(text) ? maskTexts.made : by);
}

/** Keeps the names, so that users can compare them. */
function maskVariables(value: unknown): unknown {
  if (isMap(value)) {
    for (const pair of value.items) pair.value = maskValue(pair.value, maskTexts.content);
    return value;
  }
  if (isSeq(value)) {
    value.items = value.items.map((item) =>
      isScalar(item) ? createPlainScalar(maskVariableValue(String(item.value))) : maskValue(item, maskTexts.content),
    );
    return value;
  }
  return isCollection(value) || isScalar(value) ? maskValue(value, maskTexts.content) : value;
}

const siblingKeys = (parent: unknown): string[] => (isMap(parent) ? parent.items.map(({ key }) => String(key)) : []);

/** `NAME=(not shown)` */
function maskVariableValue(text: string): string {
  const name = nameBefore(text);
  return name === undefined ? maskTexts.content : `${name}=${maskTexts.content}`;
}

/** `TS_AUTHKEY=…` or `--token=…`: the form of variables and arguments of services. */
function maskSecretVariable(text: string): string {
  const name = nameBefore(text);
  return name !== undefined && secretVariablePattern.test(name) ? `${name}=${maskTexts.secret}` : text;
}

/** The name of a variable or a flag before the first `=`. */
function nameBefore(text: string): string | undefined {
  const end = text.indexOf('=');
  const name = text.slice(0, Math.max(end, 0));
  return end > 0 && /^[\w-]+$/.test(name) ? name : undefined;
}

/** `https://user:password@host`, also with an @ in the password. */
const maskUrlLogin = (text: string): string => text.replace(/(:\/\/)[^/\s]+@/g, `$1${maskTexts.secret}@`);

/** `?jointoken=…`, also after the first parameter. */
const maskUrlQuery = (text: string): string =>
  text.includes('://')
    ? text.replace(/([?&])([^?&=\s]+)=([^?&\s]+)/g, (all, mark: string, name: string) =>
        secretVariablePattern.test(name) ? `${mark}${name}=${maskTexts.secret}` : all,
      )
    : text;
