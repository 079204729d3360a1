import { isMap, isScalar, type Pair, visit } from 'yaml';
import type { Secret } from '../lib/secret.ts';
import { readDocuments, writeDocuments } from './config/edit.ts';
import { standInText } from './stand-in.ts';

const shown = { made: '(made with the cluster)', secret: '(secret)', content: '(not shown)' } as const;

const secretName = /secret|token|passw|passphrase|privatekey|presharedkey|^psk$|credential|^auth$|authkey|^identity$/i;
const contentName = /^contents?$/;
const standIns = new Set([standInText, Buffer.from(standInText).toString('base64')]);

/**
 * A machine configuration for people to read: what is made with a cluster is named so, and nothing is shown of what patches
 * hold under a name that secrets have, in files and manifests, in the variables of services, and before the @ of URLs.
 * Rather too much is hidden than too little.
 */
export function masked(config: Secret): string {
  const documents = readDocuments(config);
  for (const document of documents) {
    visit(document, {
      Pair: (_, pair, path) => {
        const { value } = pair;
        const cover = isScalar(value) ? coverOf(pair, siblingsOf(path.at(-1))) : undefined;
        if (isScalar(value) && cover !== undefined) Object.assign(value, { value: cover, type: 'PLAIN' });
      },
      Scalar: (_, scalar) => {
        if (typeof scalar.value === 'string') scalar.value = withoutLogin(withoutVariable(scalar.value));
      },
    });
  }
  return writeDocuments(documents).reveal();
}

function coverOf({ key, value }: Pair, siblings: readonly string[]): string | undefined {
  const name = String(key);
  const text = isScalar(value) ? String(value.value) : '';
  if (standIns.has(text)) return shown.made;
  if (text === '') return undefined;
  if (contentName.test(name)) return shown.content;
  // Taints and tolerations have keys, too.
  const isKey = name === 'key' && !siblings.some((sibling) => ['effect', 'operator'].includes(sibling));
  return isKey || secretName.test(name) ? shown.secret : undefined;
}

const siblingsOf = (parent: unknown): string[] => (isMap(parent) ? parent.items.map(({ key }) => String(key)) : []);

/** `TS_AUTHKEY=…`, as services are given their variables. */
const withoutVariable = (text: string): string =>
  text.replace(/^([A-Za-z0-9_]*(?:secret|token|passw|key)[A-Za-z0-9_]*)=[\s\S]*$/i, `$1=${shown.secret}`);

/** `https://user:password@host` */
const withoutLogin = (text: string): string => text.replace(/(:\/\/)[^/@\s]+@/g, `$1${shown.secret}@`);
