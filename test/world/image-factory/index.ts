import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { applyFaultAfterCall, applyFaultBeforeCall, stall } from '../faults/apply-fault.ts';
import type { Fault } from '../faults/call-interceptor.ts';
import { startListening, stopListening } from '../network/listening.ts';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { imageFactoryDescription } from './description.ts';
import { FactoryHttpError, type FactoryResponse, ImageFactory } from './image-factory.ts';
import { InvalidSchematic } from './schematic.ts';

/** A simulated image factory. */
export interface ImageFactorySimulator extends RunningSimulator {
  /** Closes all sockets and starts again; schematics and built images stay. */
  restart(): Promise<void>;
}

const ImageFactorySeed = z.strictObject({
  /** Available Talos versions, without `v`, oldest first. */
  versions: z
    .array(z.string())
    .default(['1.11.6', '1.12.0', '1.12.10', '1.12.11', '1.13.0', '1.13.8', '1.13.9', '1.14.0-rc.1', '1.14.0']),
  /** Official extensions, the same for every version. */
  extensions: z
    .array(z.string())
    .default([
      'siderolabs/iscsi-tools',
      'siderolabs/nvidia-open-gpu-kernel-modules-lts',
      'siderolabs/qemu-guest-agent',
      'siderolabs/util-linux-tools',
    ]),
  /** Simulated seconds that the first request of an image takes. */
  buildSeconds: z.number().nonnegative().default(20),
  /** Serves `.sha256` and `.sha512`; a factory without a subscription answers 402. */
  checksums: z.boolean().default(false),
});
export type ImageFactorySeed = z.infer<typeof ImageFactorySeed>;

const simulatorName = 'image-factory';

/** Starts an image factory over plain HTTP. `extra.file` is `NAME=PATH` and serves a given file for an asset's name. */
export async function startImageFactory(options: SimulatorOptions): Promise<ImageFactorySimulator> {
  const parsed = ImageFactorySeed.safeParse(options.seed ?? {});
  if (!parsed.success) throw new RangeError(`the seed is not one for image-factory: ${z.prettifyError(parsed.error)}`);
  const life = new AbortController();
  const factory = new ImageFactory({
    ...parsed.data,
    files: await readFiles(options.extra['file']),
    sleep: (seconds) => options.clock.sleep(seconds, life.signal),
  });
  // Clients keep idle connections for long. A server that closes first would break their next request.
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    serve(options, factory, request, response, life.signal).catch(() => request.socket.destroy());
  });
  const port = await startListening(server, options.host, options.port);
  return {
    line: { simulator: simulatorName, url: `http://${options.host}:${port}`, credentials: {}, ca: null },
    restart: async () => {
      await stopListening(server);
      await startListening(server, options.host, port);
    },
    close: async () => {
      life.abort();
      await stopListening(server);
    },
  };
}

/** The simulator, for the command line. */
export const imageFactorySimulator: Simulator = {
  ...imageFactoryDescription,
  start: startImageFactory,
};

/** `NAME=PATH`, comma-separated. */
async function readFiles(given: string | undefined): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const item of given?.split(',') ?? []) {
    const at = item.indexOf('=');
    if (at <= 0) throw new RangeError(`--file wants NAME=PATH, not ${JSON.stringify(item)}`);
    files.set(item.slice(0, at), await readFile(item.slice(at + 1)));
  }
  return files;
}

async function serve(
  options: SimulatorOptions,
  factory: ImageFactory,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://factory');
  const fault = options.switchboard.pass(
    simulatorName,
    `${request.method} ${url.pathname}`,
    undefined,
    undefined,
    request.socket.remoteAddress,
  );
  if (await applyFaultBeforeCall(fault, signal)) {
    request.socket.destroy();
    return;
  }
  const body = await text(request);
  const answer =
    fault?.kind === 'error' ? toFaultResponse(fault) : await handleRequest(factory, request.method ?? 'GET', url, body);
  const length = { 'content-length': String(answer.body.length) };
  const begin = (): void => {
    response.writeHead(answer.status, { server: 'Image Factory (simulated)', ...length, ...answer.headers });
  };
  if (fault?.kind === 'cut') {
    begin();
    response.write(answer.body.subarray(0, fault.bytes));
    await stall(fault, signal);
    request.socket.destroySoon();
    return;
  }
  if (await applyFaultAfterCall(fault, signal)) {
    request.socket.destroy();
    return;
  }
  begin();
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}

async function handleRequest(factory: ImageFactory, method: string, url: URL, body: string): Promise<FactoryResponse> {
  try {
    return await factory.ask(method, url, body);
  } catch (error) {
    if (error instanceof FactoryHttpError) return textResponse(error.status, error.message);
    if (error instanceof InvalidSchematic) return textResponse(400, error.message);
    return textResponse(500, 'internal server error');
  }
}

const textResponse = (status: number, message: string): FactoryResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: Buffer.from(`${message}\n`),
});

function toFaultResponse({
  status = 500,
  body = 'internal server error',
  headers = {},
}: Extract<Fault, { kind: 'error' }>) {
  const content = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: content };
}
