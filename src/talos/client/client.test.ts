import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import {
  createOtherAuthority,
  issueServerCertificate,
  startTalosNodeServer,
  type TalosNodeServer,
} from '../../../test/talos/node-server.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { GetResponseSchema, ListResponseSchema, State } from '../gen/cosi_pb.ts';
import {
  ApplyConfigurationRequest_Mode,
  MachineService,
  RebootRequest_Mode,
  ResetRequest_WipeMode,
} from '../gen/machine_pb.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import type { SecretsBundle } from '../secrets/secrets-bundle.ts';
import { createTalosCredentials, type TalosCredentials } from '../secrets/talos-credentials.ts';
import { openInsecureClient, openTalosClient, type TalosClient } from './client.ts';
import { identifyPeer } from './peer-identity.ts';
import { resourceKinds } from './resources.ts';

let bundle: SecretsBundle;
let credentials: TalosCredentials;
let leaf: KeyPair;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
  credentials = createTalosCredentials(bundle, systemClock);
  leaf = await issueServerCertificate(bundle.authorities.os);
});

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function node(
  machine: Partial<ServiceImpl<typeof MachineService>>,
  state: Partial<ServiceImpl<typeof State>> = {},
) {
  const routes = (router: ConnectRouter) => router.service(MachineService, machine).service(State, state);
  const server = await startTalosNodeServer(routes, { leaf, clientCa: credentials.ca });
  opened.push(server);
  return server;
}

function client(server: { readonly port: number }, deadlineSeconds = 5): TalosClient {
  const one = openTalosClient({ address: '127.0.0.1', port: server.port, credentials, deadlineSeconds });
  opened.push(one);
  return one;
}

const failure = async (call: Promise<unknown>): Promise<ProviderError> => {
  try {
    await call;
  } catch (error) {
    return error as ProviderError;
  }
  throw new Error('the call did not fail');
};

describe('a call to a node', () => {
  it('returns version and platform without the wrapper message', async () => {
    const message = { version: { tag: 'v1.13.9' }, platform: { name: 'nocloud', mode: 'cloud' } };
    const server = await node({ version: () => ({ messages: [message] }) });
    expect(await client(server).version()).toEqual({ version: '1.13.9', platform: 'nocloud' });
  });

  it('reads the stage and the unmet conditions from the YAML form, and a missing status as just started', async () => {
    const yamlSpec =
      'stage: shutting down\nstatus:\n  ready: false\n  unmetConditions:\n    - name: time\n      reason: not in sync\n';
    let there = true;
    const server = await node(
      {},
      {
        get: ({ namespace, type, id }) => {
          expect([namespace, type, id]).toEqual(['runtime', 'MachineStatuses.runtime.talos.dev', 'machine']);
          if (!there) throw new ConnectError('resource does not exist', Code.NotFound);
          return create(GetResponseSchema, { resource: { metadata: { id }, spec: { yamlSpec } } });
        },
      },
    );
    const talos = client(server);
    const unmetConditions = [{ name: 'time', reason: 'not in sync' }];
    expect(await talos.machineStatus()).toEqual({ stage: 'shutting down', ready: false, unmetConditions });
    there = false;
    expect(await talos.machineStatus()).toEqual({ stage: 'unknown', ready: false, unmetConditions: [] });
  });

  it('lists resources with labels, phase and parsed spec', async () => {
    const server = await node(
      {},
      {
        async *list({ type }) {
          expect(type).toBe('Disks.block.talos.dev');
          const metadata = { id: 'vda', version: '3', phase: 'running', labels: { a: 'b' } };
          yield create(ListResponseSchema, { resource: { metadata, spec: { yamlSpec: 'size: 10\n' } } });
          yield create(ListResponseSchema, {
            resource: { metadata: { ...metadata, id: 'vdb', phase: 'tearingDown' } },
          });
        },
      },
    );
    expect(await client(server).listResources(resourceKinds.disk)).toEqual([
      { id: 'vda', version: '3', phase: 'running', labels: { a: 'b' }, spec: { size: 10 } },
      { id: 'vdb', version: '3', phase: 'tearingDown', labels: { a: 'b' }, spec: undefined },
    ]);
  });

  it('names etcd members by the hexadecimal ids of Talos, also beyond the range of a number', async () => {
    const removed: bigint[] = [];
    const asked: boolean[] = [];
    const server = await node({
      serviceList: () => ({ messages: [{ services: [{ id: 'etcd', state: 'Running' }] }] }),
      etcdMemberList: ({ queryLocal }) => {
        asked.push(queryLocal);
        return { messages: [{ members: [{ id: 0xfedcba9876543210n, hostname: 'n1', isLearner: true }, { id: 1n }] }] };
      },
      etcdStatus: () => ({ messages: [{ memberStatus: { memberId: 1n, dbSize: 5n } }] }),
      etcdRemoveMemberByID: ({ memberId }) => {
        removed.push(memberId);
        return { messages: [{}] };
      },
      etcdAlarmList: () => ({ messages: [{ memberAlarms: [{ memberId: 1n, alarm: 1 }, { memberId: 2n }] }] }),
      etcdForfeitLeadership: () => ({ messages: [{}] }),
    });
    const talos = client(server);
    expect(await talos.etcdMembers()).toEqual([
      { id: 'fedcba9876543210', name: 'n1', peerUrls: [], learner: true },
      { id: '0000000000000001', name: '', peerUrls: [], learner: false },
    ]);
    expect(asked, 'not by the endpoints that Talos knows').toEqual([true]);
    expect(await talos.etcdStatus()).toMatchObject({
      memberId: '0000000000000001',
      leaderId: '0000000000000000',
      databaseBytes: 5,
    });
    await talos.removeEtcdMember('fedcba9876543210');
    expect(removed).toEqual([0xfedcba9876543210n]);
    expect(await talos.etcdAlarms()).toEqual(['NOSPACE of 0000000000000001']);
    expect(await talos.forfeitLeadership()).toBeUndefined();
  });

  it('does not query an etcd that is down, whose calls hang, and reports the state of its service', async () => {
    const ts = { seconds: 1700000000n, nanos: 5 };
    const events = {
      events: [
        { msg: 'Waiting', state: 'Waiting' },
        { msg: 'Running pre state', ts },
      ],
    };
    let services: { id: string; state: string; events?: typeof events }[] = [
      { id: 'etcd', state: 'Preparing', events },
    ];
    const server = await node({ serviceList: () => ({ messages: [{ services }] }) });
    const talos = client(server);
    const reported = {
      code: 'TALOS_NOT_READY',
      message: expect.stringContaining('etcd is in state Preparing: Running pre'),
    };
    for (const call of [talos.etcdMembers(), talos.etcdStatus(), talos.etcdAlarms()])
      await expect(call).rejects.toMatchObject(reported);
    expect(await talos.etcdService()).toMatchObject({ state: 'Preparing', changedAt: '1700000000.5' });
    services = [];
    expect(await talos.etcdService()).toBeUndefined();
    await expect(talos.etcdMembers()).rejects.toThrow('its service etcd is not there yet');
  });

  it('always sets the mode of a configuration explicitly, because the default on the wire reboots', async () => {
    const seen: unknown[] = [];
    const server = await node({
      applyConfiguration: ({ data, mode }) => {
        seen.push([Buffer.from(data).toString(), mode]);
        return { messages: [{ warnings: ['careful'] }] };
      },
    });
    expect(await client(server).applyConfiguration(new SecretString('version: v1alpha1'), 'no-reboot')).toEqual([
      'careful',
    ]);
    expect(seen).toEqual([['version: v1alpha1', ApplyConfigurationRequest_Mode.NO_REBOOT]]);
  });

  it('reboots through the firmware, or by the faster kernel path', async () => {
    const seen: unknown[] = [];
    const server = await node({
      reboot: ({ mode }) => {
        seen.push(mode);
        return { messages: [{}] };
      },
    });
    await client(server).reboot('firmware');
    await client(server).reboot('kernel');
    expect(seen).toEqual([RebootRequest_Mode.POWERCYCLE, RebootRequest_Mode.DEFAULT]);
  });

  it('wipes STATE and EPHEMERAL to recycle a machine, and the disk only on request', async () => {
    const seen: unknown[] = [];
    const server = await node({
      reset: ({ graceful, reboot, mode, systemPartitionsToWipe }) => {
        seen.push({
          graceful,
          reboot,
          mode,
          labels: systemPartitionsToWipe.map(({ label, wipe }) => `${label}:${wipe}`),
        });
        return { messages: [{}] };
      },
    });
    const talos = client(server);
    await talos.reset({ graceful: false, reboot: true, wipe: 'configuration' });
    await talos.reset({ graceful: true, reboot: false, wipe: 'disk' });
    const mode = ResetRequest_WipeMode.SYSTEM_DISK;
    expect(seen).toEqual([
      { graceful: false, reboot: true, mode, labels: ['STATE:true', 'EPHEMERAL:true'] },
      { graceful: true, reboot: false, mode, labels: [] },
    ]);
  });

  it('reads the boot id from any number of chunks', async () => {
    const server = await node({
      async *read({ path }) {
        expect(path).toBe('/proc/sys/kernel/random/boot_id');
        yield { bytes: Buffer.from('0d0f') };
        yield { bytes: Buffer.from('-1\n') };
      },
    });
    expect(await client(server).bootId()).toBe('0d0f-1');
  });

  it('reports the health of a service without a health check as unknown', async () => {
    const services = [
      { id: 'etcd', state: 'Running', health: { healthy: true } },
      { id: 'udevd', state: 'Running', health: { unknown: true } },
      { id: 'machined', state: 'Running' },
    ];
    const server = await node({ serviceList: () => ({ messages: [{ services }] }) });
    expect((await client(server).services()).map(({ id, healthy }) => [id, healthy])).toEqual([
      ['etcd', true],
      ['udevd', undefined],
      ['machined', undefined],
    ]);
  });
});

describe('an error of a node', () => {
  it.each([
    [Code.FailedPrecondition, 'TALOS_NOT_READY'],
    [Code.AlreadyExists, 'TALOS_ALREADY_BOOTSTRAPPED'],
    [Code.PermissionDenied, 'TALOS_PERMISSION_DENIED'],
    [Code.InvalidArgument, 'TALOS_CONFIG_REFUSED'],
    [Code.Unimplemented, 'TALOS_UNSUPPORTED'],
    [Code.Unavailable, 'TALOS_UNREACHABLE'],
    [Code.Internal, 'TALOS_CALL_FAILED'],
  ])("with gRPC code %i is %s, with the node's message", async (code, expected) => {
    const server = await node({
      bootstrap: () => {
        throw new ConnectError('bootstrap is not available yet', code);
      },
    });
    const error = await failure(client(server).bootstrap());
    expect(error.code).toBe(expected);
    expect(error.message).toContain('127.0.0.1, Bootstrap: bootstrap is not available yet.');
  });

  it('never shows the machine token that Talos includes in its responses', async () => {
    const token = bundle.machineToken.reveal();
    const said = `can't be applied in immediate mode, token ${token} ${bundle.cluster.secret.reveal()}\n-  token: ${token}`;
    const server = await node({
      applyConfiguration: () => {
        throw new ConnectError(said, Code.InvalidArgument);
      },
    });
    const error = await failure(client(server).applyConfiguration(new SecretString(''), 'no-reboot'));
    expect(error.message).toContain("can't be applied in immediate mode");
    const everything = inspect(error, { depth: 10, showHidden: true });
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(bundle.cluster.secret.reveal());
  });
});

describe('a node with another identity or state', () => {
  it('D2: is foreign when another authority signed its certificate, as in maintenance mode', async () => {
    const server = await startTalosNodeServer(() => {}, {
      leaf: await issueServerCertificate(await createOtherAuthority()),
    });
    opened.push(server);
    expect((await failure(client(server).version())).code).toBe('TALOS_FOREIGN_NODE');
  });

  it('is foreign when its certificate is for another address', async () => {
    const wrong = await issueServerCertificate(bundle.authorities.os, { ipAddresses: ['192.0.2.1'] });
    const server = await startTalosNodeServer(() => {}, { leaf: wrong, clientCa: credentials.ca });
    opened.push(server);
    expect((await failure(client(server).version())).code).toBe('TALOS_FOREIGN_NODE');
  });

  it('that rejects the client certificate causes a retry: its clock may be off', async () => {
    const server = await startTalosNodeServer(() => {}, { leaf, clientCa: (await createOtherAuthority()).certificate });
    opened.push(server);
    expect((await failure(client(server).version())).code).toBe('TALOS_UNREACHABLE');
  });

  it('is unreachable when nothing listens', async () => {
    const server = await node({});
    await server.close();
    const error = await failure(client(server).version());
    expect(error.code).toBe('TALOS_UNREACHABLE');
    expect(error.message).toContain('ECONNREFUSED');
  });
});

describe('the connection', () => {
  it('is shared by all calls, and is opened again after the node was unreachable', async () => {
    const machine = { version: () => ({ messages: [{ version: { tag: 'v1.13.9' } }] }) };
    const server = await node(machine);
    const talos = client(server);
    await Promise.all([talos.version(), talos.version(), talos.version()]);
    await talos.version();
    expect(server.sessions.size).toBe(1);
    await server.close();
    expect((await failure(talos.version())).code).toBe('TALOS_UNREACHABLE');
    const routes = (router: ConnectRouter) => router.service(MachineService, machine);
    opened.push(await startTalosNodeServer(routes, { leaf, clientCa: credentials.ca, port: server.port }));
    expect((await talos.version()).version).toBe('1.13.9');
  });

  it('is closed when the node falls silent, so that the next call does not wait for it too', async () => {
    let unresponsive = true;
    const server = await node({
      version: async (_, { signal }) => {
        if (unresponsive) await once(signal, 'abort');
        return { messages: [{}] };
      },
    });
    // Enough time for a handshake on a busy machine.
    const talos = client(server, 1);
    expect((await failure(talos.version())).code).toBe('TALOS_UNREACHABLE');
    await expect.poll(() => server.sessions.size).toBe(0);
    unresponsive = false;
    await talos.version({});
    expect(server.sessions.size).toBe(1);
  });

  it('fails at the deadline when the handshake does not complete', async () => {
    const sockets: Socket[] = [];
    const unresponsive = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(unresponsive, 'listening');
    opened.push(unresponsive, { close: () => sockets.forEach((socket) => void socket.destroy()) });
    const port = (unresponsive.address() as AddressInfo).port;
    expect((await failure(client({ port }, 0.1).version())).code).toBe('TALOS_UNREACHABLE');
    expect(await identifyPeer('127.0.0.1', { ca: credentials.ca, port, deadlineSeconds: 0.1 })).toBe('unreachable');
  });

  it("fails with the reason of the caller's signal", async () => {
    const server = await node({ version: (_, { signal }) => once(signal, 'abort').then(() => ({ messages: [] })) });
    const stop = new AbortController();
    const call = failure(client(server).version({ signal: stop.signal }));
    await expect.poll(() => server.sessions.size).toBe(1);
    stop.abort(new Error('shutting down'));
    expect((await call).message).toBe('shutting down');
    expect((await failure(client(server).version({ signal: stop.signal }))).message).toBe('shutting down');
  });

  it('is gone after close', async () => {
    const server = await node({ version: () => ({ messages: [{}] }) });
    const talos = client(server);
    await talos.version();
    await talos.close();
    await expect.poll(() => server.sessions.size).toBe(0);
    expect((await failure(talos.version())).message).toContain('was closed');
  });
});

describe('a node in maintenance mode', () => {
  async function maintenance(): Promise<TalosNodeServer> {
    const own = await issueServerCertificate(await createOtherAuthority(), {
      commonName: 'maintenance-service.talos.dev',
    });
    const routes = (router: ConnectRouter) =>
      router.service(MachineService, { applyConfiguration: () => ({ messages: [{ warnings: [] }] }) });
    const server = await startTalosNodeServer(routes, { leaf: own });
    opened.push(server);
    return server;
  }

  it('accepts a configuration from an unauthenticated client', async () => {
    const { port } = await maintenance();
    const talos = openInsecureClient({ address: '127.0.0.1', port });
    opened.push(talos);
    expect(await talos.applyConfiguration(new SecretString('x'), 'auto')).toEqual([]);
  });

  it('is distinguished from a node of the cluster and from a foreign node by its certificate alone', async () => {
    const read = (port: number) => identifyPeer('127.0.0.1', { ca: credentials.ca, port });
    const foreign = await startTalosNodeServer(() => {}, {
      leaf: await issueServerCertificate(await createOtherAuthority()),
    });
    opened.push(foreign);
    const ours = await node({});
    expect(await read((await maintenance()).port)).toBe('maintenance');
    expect(await read(ours.port)).toBe('ours');
    expect(await read(foreign.port)).toBe('foreign');
    await ours.close();
    expect(await read(ours.port)).toBe('unreachable');
  });
});
