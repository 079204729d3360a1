import { rm } from 'node:fs/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AutoscalerClient,
  createAutoscalerCertificates,
  openAutoscalerClient,
} from '../../test/support/autoscaler-client.ts';
import { aCluster, anInstance, aProviderConfig } from '../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Services } from '../controllers/shared/services.ts';
import { type Log, noLog } from '../lib/log.ts';
import { platforms } from '../platforms/index.ts';
import { serveMutualTls } from '../server/mutual-tls-server.ts';
import { createAutoscalerHandler } from './request-handler.ts';

// The certificates are valid in real time.
const clock = new ManualClock(new Date());
let pending: (() => void)[] = [];
/** Lists of Leases stay open until the test ends them. */
const held = () => new Promise<ReadonlyMap<string, string>>((resolve) => pending.push(() => resolve(new Map())));
const cluster = aCluster();
const nodePool = {
  metadata: { name: 'prod-work' },
  spec: {
    providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
    clusterRef: { namespace: 'team', name: 'prod', uid: 'cluster-uid' },
    ...{ pool: 'work', replicas: 1 },
  },
};
const config = aProviderConfig();
const pool = {
  name: 'work',
  replicas: 1,
  minReplicas: 0,
  maxReplicas: 3,
  size: 'small',
  labels: {},
  taints: [],
  patches: [],
};
const services = {
  ...{ ...anInstance, platforms, clock, log: noLog },
  addresses: { list: held },
  stores: {
    clusters: { get: () => cluster },
    providerConfigs: { list: () => [{ ...config, spec: { ...config.spec, workerPools: [pool] } }] },
    nodePools: { by: () => [nodePool] },
    ...{ machines: { by: () => [] }, hosts: { list: () => [], by: () => [] } },
  },
} as unknown as Services;
const limits = { rate: { burst: 6, perSecond: 1 }, callsOfClient: 2, calls: 3, messageBytes: 1000 };

let address = '';
const log: Log = {
  ...noLog,
  info: (fields) => {
    address = String(fields['address'] ?? address);
  },
};
const end = new AbortController();
let done: Promise<void> | undefined;
let client: AutoscalerClient;
const certificates = await createAutoscalerCertificates();

beforeAll(async () => {
  const { folder, authority } = certificates;
  const handler = createAutoscalerHandler(services, limits);
  done = serveMutualTls({ address: { host: '127.0.0.1', port: 0 }, folder, handler, clock, log }, end.signal);
  while (address === '') await new Promise(setImmediate);
  client = openAutoscalerClient(address, authority.ca, await certificates.client('cluster://team/prod'));
});
afterAll(async () => {
  client.close();
  end.abort();
  await done;
  await rm(certificates.folder, { recursive: true });
});
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => Code[ConnectError.from(error).code],
  );

describe('what a client may ask for', () => {
  it('is a number of calls at once', async () => {
    const calls = [1, 2, 3].map(() => codeOf(client.nodeGroups({})));
    expect(await Promise.race(calls)).toBe('ResourceExhausted');
    while (pending.length < 2) await new Promise(setImmediate);
    for (const resolve of pending) resolve();
    pending = [];
    expect((await Promise.all(calls)).sort()).toEqual(['ResourceExhausted', 'ok', 'ok']);
    expect(await codeOf(client.refresh({}))).toBe('ok');
  });

  it('is a rate', async () => {
    await clock.advance(60_000);
    const codes: string[] = [];
    for (let i = 0; i < 7; i += 1) codes.push(await codeOf(client.refresh({})));
    expect(codes).toEqual([...Array(6).fill('ok'), 'ResourceExhausted']);
    await clock.advance(1000);
    expect(await codeOf(client.refresh({}))).toBe('ok');
  });

  it('is a size of a message', async () => {
    await clock.advance(60_000);
    const name = 'x'.repeat(2000);
    expect(await codeOf(client.nodeGroupForNode({ node: { name, providerId: '' } }))).toBe('ResourceExhausted');
    expect(await codeOf(client.nodeGroupForNode({ node: { name: 'x', providerId: '' } }))).toBe('ok');
  });
});
