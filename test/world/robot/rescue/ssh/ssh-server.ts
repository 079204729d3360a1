import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import ssh2, { type Connection, type ServerChannel, type Session } from 'ssh2';
import { applyFaultAfterCall, applyFaultBeforeCall, stall } from '../../../faults/apply-fault.ts';
import type { CallInterceptor, Fault } from '../../../faults/call-interceptor.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { PowerCut } from '../rescue-system.ts';
import { type AcceptedLogins, checkLogin } from './check-login.ts';
import type { HostKey } from './host-key.ts';
import { type ChannelLimits, type RunningCommand, runChannelCommand } from './run-command.ts';

export interface SshServerOptions extends AcceptedLogins {
  readonly host: string;
  readonly port: number;
  readonly hostKey: HostKey;
  readonly system: RescueSystem;
  readonly switchboard: CallInterceptor;
  readonly serverNumber: number;
}

export interface RunningSsh {
  readonly port: number;
  /** All connections end. Running commands continue. */
  cut(): void;
  close(): Promise<void>;
}

/** sshd of a system: exec requests only run simulated commands. */
export async function startSshServer(options: SshServerOptions): Promise<RunningSsh> {
  const connections = new Set<Connection>();
  const server = new ssh2.Server(
    { hostKeys: [options.hostKey.secret], ident: 'OpenSSH_9.2p1 Debian-2+deb12u5' },
    (connection, info) => {
      connections.add(connection);
      // As in OpenSSH. The types lack it.
      (connection as Connection & Pick<ssh2.Client, 'setNoDelay'>).setNoDelay(true);
      connection.on('authentication', (context) => checkLogin(context, options));
      connection.on('ready', () => {
        connection.on('session', (accept) => serveSession(accept(), connection, options, info.ip));
      });
      connection.on('error', () => undefined);
      connection.on('close', () => connections.delete(connection));
    },
  );
  const listening = once(server, 'listening');
  server.listen(options.port, options.host);
  await listening;
  const { port } = server.address() as AddressInfo;
  return {
    port,
    cut: () => {
      for (const connection of connections) dropConnection(connection);
    },
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) dropConnection(connection);
      await closed;
    },
  };
}

/** The client sees a lost connection. */
function dropConnection(connection: Connection): void {
  const { _sock: socket } = connection as unknown as { _sock?: Socket };
  if (socket) socket.destroy();
  else connection.end();
}

function serveSession(session: Session, connection: Connection, options: SshServerOptions, from: string): void {
  session.on('exec', (accept, _reject, { command }) => {
    const channel = accept();
    channel.on('error', () => undefined);
    serveExec(channel, command, connection, options, from).catch((error: unknown) => {
      if (!(error instanceof PowerCut)) throw error;
    });
  });
}

async function serveExec(
  channel: ServerChannel,
  command: string,
  connection: Connection,
  options: SshServerOptions,
  from: string,
): Promise<void> {
  const name = `ssh ${command.trim().split(/\s+/).slice(0, 4).join(' ')}`;
  const detail = { server: options.serverNumber };
  const fault = options.switchboard.pass('robot', name, detail, command, from);
  if (fault?.kind !== 'cut' && (await applyFaultBeforeCall(fault))) return dropConnection(connection);
  if (fault?.kind === 'error') return injectErrorResult(channel, fault);
  const limits = fault?.kind === 'cut' ? limitsOf(fault, () => dropConnection(connection)) : {};
  const started = runChannelCommand(options.system, command, channel, limits);
  await finish(channel, started, fault, connection);
}

/** One direction ends early, and the connection with it. The command sees only the effects on its files. */
function limitsOf(fault: Extract<Fault, { kind: 'cut' }>, end: () => void): ChannelLimits {
  const limit = { bytes: fault.bytes, onReached: () => void stall(fault).then(end) };
  return fault.of === 'request' ? { input: limit } : { output: limit };
}

/** A replacement for the command's output. */
function injectErrorResult(
  channel: ServerChannel,
  { body = 'Connection refused by a fault', status = 1 }: Extract<Fault, { kind: 'error' }>,
): void {
  channel.stderr.write(`${typeof body === 'string' ? body : JSON.stringify(body)}\n`);
  channel.exit(status > 255 ? 255 : status);
  channel.end();
}

async function finish(
  channel: ServerChannel,
  started: RunningCommand,
  fault: Fault | undefined,
  connection: Connection,
): Promise<void> {
  const status = await started.ended;
  // An output that is shorter than the limit arrived completely.
  if (fault?.kind !== 'cut' && (await applyFaultAfterCall(fault))) return dropConnection(connection);
  // A system that stops sends no status: the channel just ends.
  if (started.isGone()) {
    channel.end();
    return;
  }
  if (status > 128 && status < 160 && started.wasKilled()) channel.exit(signalName(status - 128), false, '');
  else channel.exit(status);
  // As with the real sshd, a background writer keeps the channel open.
  await started.closed;
  channel.end();
}

const signalName = (number: number): string => (number === 13 ? 'PIPE' : 'TERM');
