import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machineDeletionPolicy } from '../../src/api/machine-deletion-policy.ts';
import { installPolicies } from '../../src/commands/install/install-policies.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { startTestPlatformCluster } from '../world/operator/platform-cluster-fixture.ts';

const lines: string[] = [];
const note = (_: unknown, message: string) => void lines.push(message);
const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
const install = async (client: KubeClient) =>
  await installPolicies({ client, log, clock: systemClock, signal: AbortSignal.timeout(60_000), timeoutSeconds: 30 });

describe.each([
  {
    server: 'world/kube',
    missing: undefined,
    start: async () => {
      const { kubeconfig, close } = await startTestPlatformCluster();
      return { kubeconfig, close };
    },
  },
  {
    server: 'kube-apiserver',
    missing: missingForRealKube(),
    start: async () => {
      const { kubeconfigPath: kubeconfig, close } = await startRealKube();
      return { kubeconfig, close };
    },
  },
])('on $server', ({ missing, start }) => {
  if (missing) {
    test('init installs the policy for Machines', ({ skip }) => skip(missing));
    return;
  }
  let client: KubeClient;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const platform = await start();
    ({ close } = platform);
    const transport = new Transport(loadApiServerConnection({ path: platform.kubeconfig }));
    client = new KubeClient(transport, { fieldManager: 'cluster-provider-talos' });
  }, 90_000);
  afterAll(async () => {
    await client?.close();
    await close?.();
  });

  const found = async () =>
    await Promise.all(
      machineDeletionPolicy.map(({ type, object }) => client.find(type, { name: object.metadata.name })),
    );
  const removeAll = async () => {
    for (const { type, object } of machineDeletionPolicy) await client.remove(type, { name: object.metadata.name });
    lines.length = 0;
  };

  test('the policy and its binding are created, also by two at once, and a second run writes nothing', async () => {
    await Promise.all([install(client), install(client)]);
    const made = await found();
    expect(made.map((object) => object?.metadata.generation)).toEqual([1, 1]);
    lines.length = 0;
    await install(client);
    expect(await found()).toEqual(made);
    expect(lines).toEqual(machineDeletionPolicy.map(({ type }) => `${type.kind} is current`));
  });

  test('a weakened policy is repaired', async () => {
    const [{ type, object }] = machineDeletionPolicy;
    await client.merge(type, { name: object.metadata.name }, { spec: { failurePolicy: 'Ignore' } });
    await install(client);
    expect((await found())[0]?.spec).toMatchObject({ failurePolicy: 'Fail' });
  });

  test.each(machineDeletionPolicy.map(({ type, object }) => ({ kind: type.kind, type, object })))(
    'a foreign $kind of that name is not touched, and nothing is created',
    async ({ type, object }) => {
      await removeAll();
      const { name } = object.metadata;
      const { metadata } = await client.create(type, { ...object, metadata: { name } });
      await expect(install(client)).rejects.toThrow(new RegExp(`${name} has no label app.kubernetes.io/managed-by`));
      const left = (await found()).filter((one) => one !== undefined);
      expect(left.map((one) => [one.kind, one.metadata.resourceVersion])).toEqual([
        [type.kind, metadata.resourceVersion],
      ]);
      await removeAll();
    },
  );
});

test('an API server without such policies causes a warning, and init continues', async () => {
  lines.length = 0;
  const missing = new KubeError({ status: 404, reason: 'NotFound', message: 'the server could not find it' });
  const client = { find: async () => undefined, apply: async () => Promise.reject(missing) };
  await install(client as unknown as KubeClient);
  expect(lines).toEqual([expect.stringContaining('Kubernetes 1.30')]);
});
