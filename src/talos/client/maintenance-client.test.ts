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
import type { MaintenanceClient } from '../../engine/talos-clients.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { GetResponseSchema, ListResponseSchema, State } from '../gen/cosi_pb.ts';
import { ApplyConfigurationRequest_Mode, MachineService } from '../gen/machine_pb.ts';
import type { SecretsBundle } from '../secrets/secrets-bundle.ts';
import { openMaintenanceClient } from './maintenance-client.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const machineStatus = (stage: string): Partial<ServiceImpl<typeof State>> => ({
  get: () =>
    create(GetResponseSchema, { resource: { spec: { yamlSpec: `stage: ${stage}\nstatus: {ready: true}\n` } } }),
});

/** Maintenance mode of Talos up to 1.12 only serves resources and accepts a configuration. */
async function waiting(
  state: Partial<ServiceImpl<typeof State>>,
  machine: Partial<ServiceImpl<typeof MachineService>> = {},
): Promise<TalosNodeServer> {
  const own = await issueServerCertificate(await createOtherAuthority(), {
    commonName: 'maintenance-service.talos.dev',
  });
  const routes = (router: ConnectRouter) => router.service(State, state).service(MachineService, machine);
  const server = await startTalosNodeServer(routes, { leaf: own });
  opened.push(server);
  return server;
}

function clientOf({ port }: { readonly port: number }): MaintenanceClient {
  const ca = bundle.authorities.os.certificate;
  const client = openMaintenanceClient({ address: '127.0.0.1', port, ca, signal: AbortSignal.timeout(10_000) });
  opened.push(client);
  return client;
}

async function configured(authority = bundle.authorities.os): Promise<TalosNodeServer> {
  const server = await startTalosNodeServer(() => {}, {
    leaf: await issueServerCertificate(authority),
    clientCa: authority.certificate,
  });
  opened.push(server);
  return server;
}

describe('the stage of a machine that may have no configuration', () => {
  it('P18: is the reported stage while the node answers without authentication', async () => {
    expect(await clientOf(await waiting(machineStatus('maintenance'))).stage()).toBe('maintenance');
    expect(await clientOf(await waiting(machineStatus('booting'))).stage()).toBe('booting');
  });

  it('is configured when the node requires a client certificate and has one of this cluster', async () => {
    const client = clientOf(await configured());
    expect([await client.stage(), await client.stage()]).toEqual(['configured', 'configured']);
  });

  it('fails when the node has a configuration of another cluster', async () => {
    const failure = clientOf(await configured(await createOtherAuthority())).stage();
    await expect(failure).rejects.toMatchObject({
      code: 'TALOS_FOREIGN_NODE',
      message: expect.stringContaining('127.0.0.1 already has a configuration'),
    });
  });

  it('P19: fails while nothing listens, or while the node drops calls in maintenance mode', async () => {
    const gone = await waiting({});
    await gone.close();
    await expect(clientOf(gone).stage()).rejects.toMatchObject({ code: 'TALOS_UNREACHABLE' });
    const away = await waiting({
      get: () => {
        throw new ConnectError('not yet', Code.Unavailable);
      },
    });
    await expect(clientOf(away).stage()).rejects.toMatchObject({ code: 'TALOS_UNREACHABLE' });
  });
});

it('the network cards are the links without a kind, by their permanent address', async () => {
  const links = [
    'type: ether\nkind: ""\nhardwareAddr: 02:00:00:00:00:99\npermanentAddr: A8:A1:59:00:00:01\n',
    'type: ether\nhardwareAddr: a8:a1:59:00:00:02\npermanentAddr: ""\n',
    'type: ether\nkind: vlan\nhardwareAddr: a8:a1:59:00:00:01\n',
    'type: loopback\nkind: ""\nhardwareAddr: 00:00:00:00:00:00\n',
  ];
  const server = await waiting({
    async *list({ namespace, type }) {
      expect([namespace, type]).toEqual(['network', 'LinkStatuses.net.talos.dev']);
      for (const yamlSpec of links) yield create(ListResponseSchema, { resource: { spec: { yamlSpec } } });
    },
  });
  expect(await clientOf(server).macs()).toEqual(['a8:a1:59:00:00:01', 'a8:a1:59:00:00:02']);
});

describe('a configuration', () => {
  it('P28: is sent unchanged, in the one mode that every version accepts', async () => {
    const seen: unknown[] = [];
    const server = await waiting(
      {},
      {
        applyConfiguration: ({ data, mode }) => {
          seen.push([Buffer.from(data).toString(), mode]);
          return { messages: [{ warnings: ['a warning'] }] };
        },
      },
    );
    await clientOf(server).apply(new SecretString('version: v1alpha1\n'));
    expect(seen).toEqual([['version: v1alpha1\n', ApplyConfigurationRequest_Mode.AUTO]]);
  });

  it.each([
    [Code.InvalidArgument, 'no', 'TALOS_CONFIG_REFUSED'],
    [Code.Unknown, 'failed to parse config: unknown keys found during decoding', 'TALOS_CONFIG_REFUSED'],
    [Code.PermissionDenied, 'not authorized', 'TALOS_PERMISSION_DENIED'],
  ])('is refused with gRPC code %i and "%s" as %s', async (code, message, expected) => {
    const server = await waiting(
      {},
      {
        applyConfiguration: () => {
          throw new ConnectError(message, code);
        },
      },
    );
    await expect(clientOf(server).apply(new SecretString(''))).rejects.toMatchObject({ code: expected });
  });
});
