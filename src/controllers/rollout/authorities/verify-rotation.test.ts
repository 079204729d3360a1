import { beforeAll, expect, it } from 'vitest';
import { exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import { clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import { accessSecretName, labels } from '../../../api/names.ts';
import type { AccessRequest } from '../../../api/openmcp/types.ts';
import type { Secret } from '../../../kube/core-types.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { type AuthorityRotation, advanceRotation, withRotation } from '../../../talos/secrets/authority-rotation.ts';
import { createAuthority, type SecretsBundle, trustedCertificates } from '../../../talos/secrets/secrets-bundle.ts';
import { renderTokenKubeconfig } from '../../access-request/kubeconfig.ts';
import { findRotationProblem } from './verify-rotation.ts';

const ref = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };
const request: AccessRequest = {
  ...{ apiVersion: 'clusters.openmcp.cloud/v1alpha1', kind: 'AccessRequest' },
  metadata: { namespace: 'team', name: 'reader', uid: 'request-uid' },
  spec: { clusterRef: ref },
};

let bundle: SecretsBundle;
let rotation: AuthorityRotation;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
  const startedAt = new Date().toISOString();
  rotation = {
    authority: 'kubernetes',
    phase: 'accept',
    startedAt,
    other: await createAuthority('kubernetes', new Date()),
  };
});

/** The Secret of the request, with a kubeconfig that trusts these certificates. */
function secretOf(ca: string, owner = 'request-uid'): Secret {
  const text = renderTokenKubeconfig(
    { url: 'https://192.0.2.7:6443', ca },
    'talos',
    new SecretString('token'),
  ).reveal();
  const reference = { apiVersion: request.apiVersion, kind: request.kind, name: 'reader', uid: owner };
  return {
    ...{ apiVersion: 'v1', kind: 'Secret' },
    metadata: {
      namespace: 'team',
      name: accessSecretName({ namespace: 'team', name: 'reader' }),
      ownerReferences: [reference],
    },
    data: { kubeconfig: Buffer.from(text).toString('base64') },
  };
}

/** Without Machines, so that only the AccessRequest counts. */
const problemWith = (secret: Secret | undefined, used: SecretsBundle, now = rotation) => {
  const accessSecrets = { get: () => secret, list: () => (secret ? [secret] : []) };
  const stores = { accessRequests: { by: () => [request] }, accessSecrets };
  const services = { stores, targets: {}, nodes: {} } as unknown as Parameters<typeof findRotationProblem>[0];
  const cluster = { ref, machines: [], bundle: used, rotation: now };
  return findRotationProblem(services, cluster, AbortSignal.timeout(1000));
};

it('the next phase waits for a kubeconfig that does not trust what the API servers show then', async () => {
  const used = withRotation(bundle, rotation);
  expect(await problemWith(secretOf(bundle.authorities.kubernetes.certificate), used)).toMatch(
    /^AccessRequest team\/reader does not have the certificates of this step yet/,
  );
  expect(await problemWith(secretOf(trustedCertificates(used, 'kubernetes')), used)).toBeUndefined();
});

it('a rotation does not end while a kubeconfig trusts the former authority', async () => {
  const issuing = advanceRotation(bundle, rotation);
  const last = { ...rotation, ...issuing.rotation, phase: 'remove' as const };
  const both = trustedCertificates(withRotation(issuing.bundle, issuing.rotation), 'kubernetes');
  expect(await problemWith(secretOf(both), issuing.bundle, last)).toMatch(/team\/reader/);
  expect(await problemWith(secretOf(rotation.other.certificate), issuing.bundle, last)).toBeUndefined();
});

it('waits for what is published of the cluster, unless that is being withdrawn', async () => {
  const used = withRotation(bundle, rotation);
  const published = (ca: string, change: object = {}): Secret => {
    const secret = secretOf(ca, 'nobody');
    const marks = { labels: { [labels.published]: 'kubeconfigSecret' }, annotations: clusterIdentityAnnotations(ref) };
    return { ...secret, metadata: { ...secret.metadata, ...marks, ...change } };
  };
  const former = bundle.authorities.kubernetes.certificate;
  expect(await problemWith(published(former), used)).toMatch(/^The published Secret team\/reader.kubeconfig does not/);
  expect(await problemWith(published(trustedCertificates(used, 'kubernetes')), used)).toBeUndefined();
  expect(await problemWith(published(former, { deletionTimestamp: 'x' }), used)).toBeUndefined();
  const annotations = clusterIdentityAnnotations({ ...ref, uid: 'another' });
  expect(await problemWith(published(former, { annotations }), used)).toBeUndefined();
});

it('waits neither for a Secret of another owner nor for one that does not exist, nor when the Talos CA is rotated', async () => {
  const used = withRotation(bundle, rotation);
  const former = bundle.authorities.kubernetes.certificate;
  expect(await problemWith(secretOf(former, 'someone'), used)).toBeUndefined();
  expect(await problemWith(undefined, used)).toBeUndefined();
  const ofTalos: AuthorityRotation = { ...rotation, authority: 'os' };
  expect(await problemWith(secretOf('another'), used, ofTalos)).toBeUndefined();
});
