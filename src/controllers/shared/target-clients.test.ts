import { afterEach, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import { type Secret as KubeSecret, Namespace } from '../../kube/core-types.ts';
import type { KubeError } from '../../kube/errors.ts';
import { noLog } from '../../lib/log.ts';
import { createSecretsBundle, type SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { secretsBundleKey } from './secrets/cluster-secrets.ts';
import { TargetClients } from './target-clients.ts';

const hours = 3600 * 1000;
const shop = { namespace: 'shop', name: 'main', uid: 'shop-uid' };
let targets: TargetClients | undefined;
afterEach(() => targets?.close());

const secretOf = (bundle: SecretsBundle, annotations = {}): KubeSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'any', uid: 'one', annotations: { ...clusterIdentityAnnotations(shop), ...annotations } },
  data: { [secretsBundleKey]: Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') },
});

async function openTargets(clock: ManualClock): Promise<TargetClients> {
  const secret = secretOf(await exampleSecretsBundle());
  return new TargetClients({ secrets: () => secret, clock, log: noLog, fieldManager: 'tests' });
}

it.each([
  ['is reused while its certificate is fresh', [11, -22], [true, true]],
  ['is replaced after half of the day of its certificate', [13], [false]],
  ['is replaced when the clock was set back by days, because the cluster would reject it for as long', [-48], [false]],
  ['is replaced when the clock was ahead by days and was corrected', [48, -48], [false, false]],
])('D55: the client of a cluster %s', async (_, jumps, kept) => {
  const clock = new ManualClock();
  targets = await openTargets(clock);
  const clients = [await targets.client(shop, 'https://127.0.0.1:1')];
  for (const jump of jumps) {
    clock.jump(jump * hours);
    clients.push(await targets.client(shop, 'https://127.0.0.1:1'));
  }
  expect(clients.slice(1).map((client, i) => client === clients[i])).toEqual(kept);
});

it('the client of a cluster is replaced when its authorities change, and not for an annotation on its Secret', async () => {
  const bundle = await exampleSecretsBundle();
  let secret = secretOf(bundle);
  targets = new TargetClients({ secrets: () => secret, clock: new ManualClock(), log: noLog, fieldManager: 'tests' });
  const open = () => targets?.client(shop, 'https://127.0.0.1:1');
  const first = await open();
  secret = secretOf(bundle, { note: 'changed' });
  expect(await open()).toBe(first);
  const { authorities } = await createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });
  secret = secretOf({ ...bundle, authorities: { ...bundle.authorities, kubernetes: authorities.kubernetes } });
  expect(await open()).not.toBe(first);
});

it('the client of one API server is that of the cluster at its endpoint, and elsewhere one that is kept for some seconds', async () => {
  const clock = new ManualClock();
  targets = await openTargets(clock);
  const at = async (server: string) => await targets?.atApiServer(shop, server, async (client) => client);
  const shared = await targets.client(shop, 'https://127.0.0.1:1');
  expect(await at('https://127.0.0.1:1')).toBe(shared);
  const other = await at('https://127.0.0.2:1');
  expect(other).not.toBe(shared);
  expect(await at('https://127.0.0.2:1')).toBe(other);
  expect(await at('https://127.0.0.3:1')).not.toBe(other);
  await clock.advance(11_000);
  expect(await at('https://127.0.0.2:1')).not.toBe(other);
});

it('the client of a cluster that does not respond makes one attempt in two seconds, and fails other calls at once', async () => {
  const clock = new ManualClock();
  targets = await openTargets(clock);
  const client = await targets.client(shop, 'https://127.0.0.1:1');
  const never = new AbortController().signal;
  const retryAfter = async (): Promise<unknown> => {
    const error = await client.get(Namespace, { name: 'default' }, never).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 0 });
    return (error as KubeError).retryAfterSeconds;
  };
  expect(await retryAfter()).toBeUndefined();
  expect(await retryAfter()).toBe(2);
  await clock.advance(2000);
  expect(await retryAfter()).toBeUndefined();
});
