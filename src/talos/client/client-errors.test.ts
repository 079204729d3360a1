import { inspect } from 'node:util';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { createOtherAuthority, issueServerCertificate, startTalosNodeServer } from '../../../test/talos/node-server.ts';
import { failureOf, NodeServers } from '../../../test/talos/node-servers.ts';
import { SecretString } from '../../lib/secret-string.ts';

const nodes = new NodeServers();

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
    const server = await nodes.start({
      bootstrap: () => {
        throw new ConnectError('bootstrap is not available yet', code);
      },
    });
    const error = await failureOf(nodes.connect(server).bootstrap());
    expect(error.code).toBe(expected);
    expect(error.message).toContain('127.0.0.1, Bootstrap: bootstrap is not available yet.');
  });

  it('never shows the machine token that Talos includes in its responses', async () => {
    const token = nodes.bundle.machineToken.reveal();
    const messages = `can't be applied in immediate mode, token ${token} ${nodes.bundle.cluster.secret.reveal()}\n-  token: ${token}`;
    const server = await nodes.start({
      applyConfiguration: () => {
        throw new ConnectError(messages, Code.InvalidArgument);
      },
    });
    const error = await failureOf(nodes.connect(server).applyConfiguration(new SecretString(''), 'no-reboot'));
    expect(error.message).toContain("can't be applied in immediate mode");
    const everything = inspect(error, { depth: 10, showHidden: true });
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(nodes.bundle.cluster.secret.reveal());
  });
});

describe('a node with another identity or state', () => {
  it('B2: is foreign when another authority signed its certificate, as in maintenance mode', async () => {
    const server = await startTalosNodeServer(() => {}, {
      leaf: await issueServerCertificate(await createOtherAuthority()),
    });
    nodes.closeAfterTest(server);
    expect((await failureOf(nodes.connect(server).version())).code).toBe('TALOS_FOREIGN_NODE');
  });

  it('is foreign when its certificate is for another address', async () => {
    const wrong = await issueServerCertificate(nodes.bundle.authorities.os, { ipAddresses: ['192.0.2.1'] });
    const server = await startTalosNodeServer(() => {}, { leaf: wrong, clientCa: nodes.credentials.ca });
    nodes.closeAfterTest(server);
    expect((await failureOf(nodes.connect(server).version())).code).toBe('TALOS_FOREIGN_NODE');
  });

  it('that rejects the client certificate causes a retry: its clock may be off', async () => {
    const server = await startTalosNodeServer(() => {}, {
      leaf: nodes.leaf,
      clientCa: (await createOtherAuthority()).certificate,
    });
    nodes.closeAfterTest(server);
    expect((await failureOf(nodes.connect(server).version())).code).toBe('TALOS_UNREACHABLE');
  });

  it('is unreachable when nothing listens', async () => {
    const server = await nodes.start({});
    await server.close();
    const error = await failureOf(nodes.connect(server).version());
    expect(error.code).toBe('TALOS_UNREACHABLE');
    expect(error.message).toContain('ECONNREFUSED');
  });
});
