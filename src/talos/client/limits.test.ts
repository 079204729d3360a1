import { create } from '@bufbuild/protobuf';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { issueServerCertificate, startTalosNodeServer } from '../../../test/talos/node-server.ts';
import { systemClock } from '../../lib/clock.ts';
import { GetResponseSchema, ListResponseSchema, State } from '../gen/cosi_pb.ts';
import { MachineService } from '../gen/machine_pb.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import { createTalosCredentials, type TalosCredentials } from '../secrets/client-credentials.ts';
import { openTalosClient, type TalosClient } from './client.ts';
import { talosLimits } from './limits.ts';
import { resourceKinds } from './resources.ts';

let credentials: TalosCredentials;
let leaf: KeyPair;
beforeAll(async () => {
  const bundle = await exampleSecretsBundle();
  credentials = createTalosCredentials(bundle, systemClock);
  leaf = await issueServerCertificate(bundle.authorities.os);
});

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function clientOf(
  machine: Partial<ServiceImpl<typeof MachineService>>,
  state: Partial<ServiceImpl<typeof State>> = {},
): Promise<TalosClient> {
  const routes = (router: ConnectRouter) => router.service(MachineService, machine).service(State, state);
  const server = await startTalosNodeServer(routes, { leaf, clientCa: credentials.ca });
  const client = openTalosClient({ address: '127.0.0.1', port: server.port, credentials, deadlineSeconds: 20 });
  opened.push(server, client);
  return client;
}

const resource = (id: string, yamlSpec: string) => ({ metadata: { id, version: '1' }, spec: { yamlSpec } });
const rejection = (call: Promise<unknown>) =>
  call.then(
    () => 'no refusal',
    (error: unknown) => String(error),
  );

describe('a response of a node', () => {
  it('is a list with a bounded number of items', async () => {
    let reported = 0;
    const node = await clientOf(
      {},
      {
        async *list() {
          for (;;) {
            reported += 1;
            yield create(ListResponseSchema, { resource: resource(`r${reported}`, 'a: 1') });
          }
        },
      },
    );
    expect(await rejection(node.listResources(resourceKinds.disk))).toMatch(/exceeds the limit/);
    // The node also sends what the buffers hold.
    expect(reported).toBeLessThan(50 * talosLimits.listItems);
  });

  it.each([
    ['one long message', 'x'.repeat(talosLimits.messageBytes + 1)],
    ['one long resource', `a: ${'x'.repeat(talosLimits.resourceBytes)}`],
    ['invalid YAML', '[['],
    ['endlessly nested', '['.repeat(100_000)],
  ])('is rejected when it is %s', async (_, yaml) => {
    const node = await clientOf({}, { get: () => create(GetResponseSchema, { resource: resource('a', yaml) }) });
    const message = await rejection(node.findResource(resourceKinds.systemDisk, 'a'));
    expect(message).toMatch(/ProviderError/);
    expect(message.length).toBeLessThan(600);
  });

  it('is read in linear time: keys are not compared with each other', async () => {
    // The comparison takes 40,000 times 40,000 steps: a minute and more.
    const yaml = Array.from({ length: 40_000 }, (_, i) => `k${i}: 1`).join('\n');
    const node = await clientOf({}, { get: () => create(GetResponseSchema, { resource: resource('a', yaml) }) });
    const found = await node.findResource(resourceKinds.systemDisk, 'a');
    expect(Object.keys(found?.spec as object)).toHaveLength(40_000);
  });

  it('is one short word for a file with one word', async () => {
    const node = await clientOf({
      async *read() {
        for (;;) yield { bytes: new Uint8Array(1) };
      },
    });
    expect(await rejection(node.bootId())).toMatch(/longer than 4096 bytes/);
  });

  it('has a version of bounded length', async () => {
    const node = await clientOf({
      version: () => ({ messages: [{ version: { tag: `v${'1'.repeat(100_000)}` }, platform: { name: 'metal' } }] }),
    });
    expect((await node.version()).version.length).toBeLessThan(200);
  });
});
