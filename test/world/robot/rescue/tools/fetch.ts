import { request as http, type IncomingMessage } from 'node:http';
import { request as https } from 'node:https';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { waitAtMost } from './wait-at-most.ts';

/** An error with curl's number for it. */
class FetchError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Download {
  readonly authority: Buffer | undefined;
  /** Real seconds. */
  readonly connectSeconds: number;
  /** With a colon; of the first request, and of those that redirects lead to. */
  readonly protocols: readonly string[];
  readonly redirectProtocols: readonly string[];
  readonly signal: AbortSignal;
}

/** Only this machine can be reached, and no name can be resolved. */
function checkHost({ hostname }: URL): void {
  const isAddress = /^\d+(?:\.\d+){3}$/.test(hostname) || hostname.startsWith('[');
  if (!isAddress && hostname !== 'localhost') throw new FetchError(6, `Could not resolve host: ${hostname}`);
  if (isAddress && !/^127\.|^\[::1\]$/.test(hostname))
    throw new FetchError(7, `Failed to connect to ${hostname}: No route to host`);
}

async function open(given: string, desired: Download, hops = 0): Promise<IncomingMessage> {
  if (hops > 20) throw new FetchError(47, 'Maximum (20) redirects followed');
  if (!URL.canParse(given)) throw new FetchError(3, 'URL using bad/illegal format or missing URL');
  const url = new URL(given);
  const allowed =
    hops === 0 ? desired.protocols : desired.protocols.filter((one) => desired.redirectProtocols.includes(one));
  if (!allowed.includes(url.protocol))
    throw new FetchError(1, `Protocol "${url.protocol.slice(0, -1)}" not supported or disabled in libcurl`);
  checkHost(url);
  const answer = await send(url, desired);
  const location = answer.headers.location;
  if (location === undefined || !/^30[12378]$/.test(String(answer.statusCode))) return answer;
  answer.resume();
  return await open(new URL(location, url).href, desired, hops + 1);
}

/** The value of `--proto`, e.g. `=http,https`. */
const protocolsIn = (list = '=http,https'): readonly string[] =>
  list
    .slice(1)
    .split(',')
    .map((name) => `${name}:`);

function send(url: URL, { authority, connectSeconds, signal }: Download): Promise<IncomingMessage> {
  const where = `${url.hostname} port ${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
  return new Promise((resolve, reject) => {
    const headers = { 'user-agent': 'curl/7.88.1', accept: '*/*' };
    const options = { headers, signal, agent: false, ...(authority ? { ca: authority } : {}) };
    const sent = url.protocol === 'https:' ? https(url, options) : http(url, options);
    const timer = setTimeout(
      () =>
        sent.destroy(
          new FetchError(28, `Failed to connect to ${where} after ${connectSeconds * 1000} ms: Timeout was reached`),
        ),
      connectSeconds * 1000,
    );
    sent.on('socket', (socket) => socket.once('connect', () => clearTimeout(timer)));
    sent.on('close', () => clearTimeout(timer));
    sent.on('response', resolve);
    sent.on('error', (error: NodeJS.ErrnoException) =>
      reject(signal.aborted ? signal.reason : toFetchError(error, where)),
    );
    sent.end();
  });
}

function toFetchError(error: NodeJS.ErrnoException, where: string): FetchError {
  if (error instanceof FetchError) return error;
  if (error.code === 'ECONNREFUSED')
    return new FetchError(7, `Failed to connect to ${where} after 0 ms: Couldn't connect to server`);
  if (error.code === 'ECONNRESET') return new FetchError(52, 'Empty reply from server');
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(error.code ?? ''))
    return new FetchError(60, 'SSL certificate problem: unable to get local issuer certificate');
  return new FetchError(56, `Recv failure: ${error.message}`);
}

/**
 * The body, chunk by chunk. One that ends too early is an error with the number of missing bytes. With `--speed-time` a
 * sender that stops for so long is too slow; one that sends slowly is not simulated.
 */
async function* bodyOf(
  answer: IncomingMessage,
  process: RescueProcess,
  options: Arguments['options'],
): AsyncGenerator<Buffer> {
  const [limit, time] = [options.get('speed-limit'), options.get('speed-time')];
  const words = `Operation too slow. Less than ${limit} bytes/sec transferred the last ${time} seconds`;
  const inTime = <T>(next: Promise<T>): Promise<T> =>
    time === undefined ? next : waitAtMost(next, Number(time), process, () => new FetchError(28, words));
  const length = Number(answer.headers['content-length'] ?? Number.NaN);
  let got = 0;
  try {
    const chunks = (answer as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    for (let next = await inTime(chunks.next()); !next.done; next = await inTime(chunks.next())) {
      got += next.value.length;
      yield next.value;
    }
  } catch (error) {
    process.signal.throwIfAborted();
    if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    const missing = Number.isNaN(length) ? 'outstanding read data' : `${length - got} bytes`;
    throw new FetchError(18, `transfer closed with ${missing} remaining to read`);
  }
}

/** `curl`: one GET to standard output. */
const curl: RescueProgram = async (process) => {
  const { options } = parseArguments(process, {
    long: [
      ...['fail', 'silent', 'show-error', 'location', 'globoff', 'proto=', 'proto-redir='],
      ...['connect-timeout=', 'speed-limit=', 'speed-time=', 'url='],
    ],
  });
  const missing = ['fail', 'silent', 'show-error', 'location', 'url'].find((name) => !options.has(name));
  if (missing !== undefined) return await process.fail(`without --${missing} it is not simulated`, 2);
  try {
    await download(process, options);
    return 0;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    await process.error(`curl: (${error.status}) ${error.message}\n`);
    return error.status;
  }
};

async function download(process: RescueProcess, options: Arguments['options']): Promise<void> {
  const trusted = process.environment.get('CURL_CA_BUNDLE');
  const answer = await open(options.get('url') ?? '', {
    authority: trusted === undefined ? undefined : await process.readFile(trusted),
    connectSeconds: Number(options.get('connect-timeout') ?? 30),
    protocols: protocolsIn(options.get('proto')),
    redirectProtocols: protocolsIn(options.get('proto-redir')),
    signal: process.signal,
  });
  try {
    const { statusCode = 0 } = answer;
    if (statusCode >= 400) throw new FetchError(22, `The requested URL returned error: ${statusCode}`);
    for await (const chunk of bodyOf(answer, process, options)) await process.out(chunk);
  } finally {
    answer.destroy();
  }
}

export const fetchTools: Readonly<Record<string, RescueProgram>> = { curl };
