import { secretsBundleKey } from '../../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { diskPassphraseKey } from '../../../../src/controllers/shared/secrets/disk-keys.ts';
import { Secret as KubeSecret } from '../../../../src/kube/core-types.ts';
import { ProviderError } from '../../../../src/lib/errors.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import type { SecretsBundle } from '../../../../src/talos/secrets/secrets-bundle.ts';
import { parseSecretsBundle } from '../../../../src/talos/secrets/secrets-bundle-file.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** A secret value, and its description. */
interface KnownSecret {
  readonly what: string;
  readonly text: string;
}

/** Places outside of Secrets where secrets of this testbed appear: `what in place`. */
export const findSecretLeaks = (testbed: Testbed): string[] => findSecretsIn(testbed, readableTexts(testbed));

/** A text that must have no secret, and where it is. */
interface SearchedText {
  readonly place: string;
  readonly text: string;
}

/** The secrets of this testbed in any form in the texts: `what in place`. */
export function findSecretsIn(testbed: Testbed, texts: Iterable<SearchedText>): string[] {
  const needles = collectSecrets(testbed);
  const forms = needles.flatMap(({ what, text }) => encodingsOf(text).map((form) => ({ what, form })));
  const found: string[] = [];
  for (const { place, text } of texts) {
    for (const { what, form } of forms) if (text.includes(form)) found.push(`${what} in ${place}`);
    // Secrets that are never stored, such as the keys of client certificates, are recognized by their format.
    if (/PRIVATE KEY|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}UFJJVkFURSBLRV|eyJhbGciOi/.test(text))
      found.push(`a key or token in ${place}`);
  }
  return [...new Set(found)];
}

/** Every secret that ever appeared in a Secret on the platform cluster. */
export function collectSecrets({ recorder, objects }: Testbed): KnownSecret[] {
  const needles = new Map<string, string>();
  const add = (what: string, text: string): void => {
    if (text.length >= 12) needles.set(text, what);
  };
  add('an API key', objects.goodCredentials().apiKey);
  for (const { object } of recorder.of(KubeSecret)) {
    const { name } = object.metadata;
    for (const [key, value] of Object.entries(object.data ?? {})) {
      const text = Buffer.from(value, 'base64').toString('utf8');
      if (key === secretsBundleKey) for (const part of bundleSecrets(text)) add(`${part.what} of ${name}`, part.text);
      if (key === 'kubeconfig') add(`the token of ${name}`, /token: (\S+)/.exec(text)?.[1] ?? '');
      if (key === diskPassphraseKey) add(`the passphrase of ${name}`, text);
      if (key === 'apiKey') add('an API key', text);
      if (key === 'identity') add('an identity of age', /AGE-SECRET-KEY-\S+/.exec(text)?.[0] ?? '');
    }
  }
  return [...needles].map(([text, what]) => ({ what, text }));
}

function bundleSecrets(text: string): KnownSecret[] {
  const bundle = tryParseBundle(text);
  if (!bundle) return [];
  const { authorities, serviceAccountKey, ...rest } = bundle;
  const keys = [...Object.values(authorities).map(({ key }) => key), serviceAccountKey];
  return [
    { what: 'the discovery secret', text: rest.cluster.secret.reveal() },
    { what: 'the bootstrap token', text: rest.bootstrapToken.reveal() },
    { what: 'the machine token', text: rest.machineToken.reveal() },
    { what: 'the encryption key', text: rest.etcdEncryption.key.reveal() },
    ...keys.flatMap((key) => pemLines(key.reveal()).map((line) => ({ what: 'a private key', text: line }))),
  ];
}

/** Undefined for a bundle that a test has corrupted: its remaining content is in the valid one as well. */
function tryParseBundle(text: string): SecretsBundle | undefined {
  try {
    return parseSecretsBundle(new SecretString(text));
  } catch (error) {
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

/** Lines of a PEM file that are unique to this key. Long keys share their first line. */
function pemLines(pem: string): string[] {
  const lines = pem.split('\n').filter((line) => /^[A-Za-z0-9+/=]{40,}$/.test(line));
  return lines.length > 1 ? lines.slice(1, 4) : lines;
}

/** The text as is, and its base64 encodings at each of the three possible offsets. */
export function encodingsOf(text: string): string[] {
  const inside = [0, 1, 2].map((shift) => {
    const encoded = Buffer.from(`${' '.repeat(shift)}${text}`).toString('base64');
    return encoded.slice(shift === 0 ? 0 : 4, Math.floor((text.length + shift) / 3) * 4);
  });
  return [text, ...inside];
}

/** Everything readable without access to Secrets: logs, and all other objects in all their versions. */
function* readableTexts({ logLines, recorder }: Testbed): Generator<SearchedText> {
  for (const line of logLines) yield { place: `the log line ${line.slice(0, 200)}`, text: line };
  for (const { kind, object } of recorder.sightings) {
    if (kind === KubeSecret.kind)
      yield { place: `the metadata of Secret ${object.metadata.name}`, text: JSON.stringify(object.metadata) };
    else yield { place: `${kind} ${object.metadata.name}`, text: JSON.stringify(object) };
  }
}
