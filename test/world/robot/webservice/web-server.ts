import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import type { CertificatePair } from '../../kube/auth/certificates.ts';
import { type RobotState, robotSimulatorName } from '../state.ts';
import { AddressBlocked } from './authentication.ts';
import { handleRobotRequest, type WireReply } from './handle-request.ts';
import { findRobotRoute } from './router.ts';

export interface RobotWebServer {
  readonly port: number;
  /** Ends all connections; new ones are accepted. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Listens with TLS only, like the real one. */
export async function listenRobot(
  robot: RobotState,
  host: string,
  wantedPort: number,
  serving: CertificatePair,
): Promise<RobotWebServer> {
  const server = createServer({ ...serving, keepAliveTimeout: 600_000 }, (request, response) => {
    serve(robot, request, response).catch((error: unknown) => {
      if (!(error instanceof AddressBlocked)) robot.log?.debug({ reason: String(error) }, 'no answer');
      request.socket.destroy();
    });
  });
  server.on('tlsClientError', () => undefined);
  await start(server, host, wantedPort);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    restart: async () => {
      await stop(server);
      await start(server, host, port);
    },
    close: () => stop(server),
  };
}

async function serve(robot: RobotState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://robot');
  const route = findRobotRoute(request.method ?? 'GET', url.pathname);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const from = request.socket.remoteAddress ?? '';
  const detail = { path: url.pathname, ...(route.params['n'] && { server: route.params['n'] }) };
  const fault = robot.switchboard.pass(robotSimulatorName, route.name, detail, body, from);
  if (await applyFaultBeforeCall(fault, robot.signal)) return void request.socket.destroy();
  const reply = await handleRobotRequest(robot, { request, url, body, from, route }, fault);
  if (await applyFaultAfterCall(fault, robot.signal)) return void request.socket.destroy();
  send(response, reply);
}

function send(response: ServerResponse, { status, body, headers = {} }: WireReply): void {
  if (body === undefined) {
    response.writeHead(status, { 'content-type': 'text/html', 'content-length': '0', ...headers }).end();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

function start(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
