import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { parseAnyBundle } from './read-bundle.ts';

const bundle = await exampleSecretsBundle();
const { authorities, cluster } = bundle;
const pair = ({ certificate, key }: (typeof authorities)['os']) => ({
  crt: toBase64(certificate),
  key: toBase64(key.reveal()),
});
const ofControlPlane = {
  version: 'v1alpha1',
  machine: { type: 'controlplane', token: bundle.machineToken.reveal(), ca: pair(authorities.os) },
  cluster: {
    id: cluster.id,
    secret: cluster.secret.reveal(),
    token: bundle.bootstrapToken.reveal(),
    secretboxEncryptionSecret: bundle.etcdEncryption.key.reveal(),
    ca: pair(authorities.kubernetes),
    aggregatorCA: pair(authorities.aggregator),
    serviceAccount: { key: toBase64(bundle.serviceAccountKey.reveal()) },
    etcd: { ca: pair(authorities.etcd) },
  },
};
const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'cp-a' };
const written = (...documents: readonly unknown[]) =>
  new SecretString(documents.map((document) => stringify(document)).join('---\n'));

it('is the same from both files', () => {
  const text = formatSecretsBundle(bundle);
  expect(formatSecretsBundle(parseAnyBundle(text)).reveal()).toBe(text.reveal());
  const ofNode = parseAnyBundle(written(hostname, ofControlPlane));
  expect(formatSecretsBundle(ofNode).reveal()).toBe(text.reveal());
});

it('names what the configuration of a worker lacks', () => {
  const { ca, ...machine } = ofControlPlane.machine;
  const worker = { ...ofControlPlane, machine: { ...machine, type: 'worker', ca: { crt: ca.crt } } };
  expect(() => parseAnyBundle(written(worker))).toThrow(/certs\.os\.key is missing/);
});

it('quotes nothing of a file that is neither', () => {
  expect(() => parseAnyBundle(new SecretString('{"a": my-secret'))).toThrow(/^(?!.*my-secret)/s);
});
