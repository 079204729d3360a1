import { createReadStream } from 'node:fs';
import { parse, stringify } from 'yaml';
import { readBounded } from '../../lib/bounded-read.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { isMainYamlDocument, parseConfigYaml } from '../../talos/config/edit/config-yaml.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { parseSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';

/** A bundle has some 10 KB, a machine configuration at most a few hundred. */
const maxBytes = 4 * 1024 * 1024;

/** Where a bundle has what is in the machine configuration of a control plane. */
const placesInBundle: readonly (readonly [inBundle: string, inConfiguration: string])[] = [
  ['cluster.id', 'cluster.id'],
  ['cluster.secret', 'cluster.secret'],
  ['secrets.bootstraptoken', 'cluster.token'],
  ['secrets.secretboxencryptionsecret', 'cluster.secretboxEncryptionSecret'],
  ['secrets.aescbcencryptionsecret', 'cluster.aescbcEncryptionSecret'],
  ['trustdinfo.token', 'machine.token'],
  ['certs.etcd', 'cluster.etcd.ca'],
  ['certs.k8s', 'cluster.ca'],
  ['certs.k8saggregator', 'cluster.aggregatorCA'],
  ['certs.k8sserviceaccount', 'cluster.serviceAccount'],
  ['certs.os', 'machine.ca'],
];

/**
 * The secrets of a cluster from a file of `talosctl gen secrets`, or from the machine configuration of a control plane.
 * Throws TALOS_SECRETS_INVALID with the path of a wrong value, never with the value.
 */
export async function readBundleFile(path: string): Promise<SecretsBundle> {
  return parseAnyBundle(await readText(path));
}

export function parseAnyBundle(text: SecretString): SecretsBundle {
  return parseSecretsBundle(isMachineConfig(text) ? bundleOfConfiguration(text) : text);
}

async function readText(path: string): Promise<SecretString> {
  try {
    return new SecretString((await readBounded(createReadStream(path), maxBytes, path)).toString('utf8'));
  } catch (cause) {
    throw new ProviderError('ADOPTION_REJECTED', `--secrets: ${path} cannot be read.`, { cause });
  }
}

function isMachineConfig(text: SecretString): boolean {
  try {
    return parseConfigYaml(text).some((document) => isMainYamlDocument(document) && document.has('machine'));
  } catch {
    return false;
  }
}

function bundleOfConfiguration(text: SecretString): SecretString {
  const main = parseConfigYaml(text).find(isMainYamlDocument);
  const bundle: Record<string, Record<string, unknown>> = {};
  for (const [inBundle, inConfiguration] of placesInBundle) {
    const [section = '', key = ''] = inBundle.split('.');
    const value = main?.getIn(inConfiguration.split('.'));
    if (value !== undefined) bundle[section] = { ...bundle[section], [key]: parse(stringify(value)) };
  }
  return new SecretString(stringify(bundle));
}
