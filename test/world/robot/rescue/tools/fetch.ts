import { request as http, type IncomingMessage } from 'node:http';
import { request as https } from 'node:https';
import { Errno } from '../io/errno.ts';
import type { Descriptor } from '../io/open-file.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { waitAtMost } from './patience.ts';

/** Why nothing came, with curl's number for it. */
class FetchError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Wish {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly insecure: boolean;
  readonly authority: Buffer | undefined;
  /** Real seconds. */
  readonly connectSeconds: number;
  readonly follows: boolean;
  /** With a colon; of the first request, and of those that redirects lead to. */
  readonly protocols: readonly string[];
  readonly redirectProtocols: readonly string[];
  readonly signal: AbortSignal;
}

/** Nothing but this machine is reached, and names are resolved by nobody. */
function checkHost({ hostname }: URL): void {
  const isAddress = /^\d+(?:\.\d+){3}$/.test(hostname) || hostname.startsWith('[');
  if (!isAddress && hostname !== 'localhost') throw new FetchError(6, `Could not resolve host: ${hostname}`);
  if (isAddress && !/^127\.|^\[::1\]$/.test(hostname))
    throw new FetchError(7, `Failed to connect to ${hostname}: No route to host`);
}

async function open(given: string, desired: Wish, hops = 0): Promise<IncomingMessage> {
  if (hops > 20) throw new FetchError(47, 'Maximum (20) redirects followed');
  const url = parse(given);
  const allowed =
    hops === 0 ? desired.protocols : desired.protocols.filter((one) => desired.redirectProtocols.includes(one));
  if (!allowed.includes(url.protocol)) throw unsupported(url);
  checkHost(url);
  const answer = await ask(url, desired);
  const location = answer.headers.location;
  if (!desired.follows || location === undefined || !/^30[12378]$/.test(String(answer.statusCode))) return answer;
  answer.resume();
  return await open(new URL(location, url).href, desired, hops + 1);
}

function parse(given: string): URL {
  const text = /^[a-z]+:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(text)) throw new FetchError(3, 'URL using bad/illegal format or missing URL');
  const url = new URL(text);
  if (!protocols.includes(url.protocol)) throw unsupported(url);
  return url;
}

const protocols = ['http:', 'https:'];

const unsupported = ({ protocol }: URL): FetchError =>
  new FetchError(1, `Protocol "${protocol.slice(0, -1)}" not supported or disabled in libcurl`);

/** As `--proto =https` has it. Lists without the equals sign change the usual ones, and are no case of the world. */
const protocolsIn = (list: string | undefined): readonly string[] =>
  list === undefined
    ? protocols
    : list
        .replace(/^=/, '')
        .split(',')
        .map((name) => `${name}:`);

function ask(
  url: URL,
  { method, headers, insecure, authority, connectSeconds, signal }: Wish,
): Promise<IncomingMessage> {
  const where = `${url.hostname} port ${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      signal,
      agent: false,
      rejectUnauthorized: !insecure,
      ...(authority ? { ca: authority } : {}),
    };
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

/** Body, piece by piece. One that ends too early is told with what is missing. `patience` waits for each piece. */
async function* bodyOf(
  answer: IncomingMessage,
  signal: AbortSignal,
  patience: Patience = (next) => next,
): AsyncGenerator<Buffer> {
  const length = Number(answer.headers['content-length'] ?? Number.NaN);
  let got = 0;
  try {
    const pieces = (answer as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    for (let next = await patience(pieces.next()); !next.done; next = await patience(pieces.next())) {
      got += next.value.length;
      yield next.value;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw new FetchError(
      18,
      Number.isNaN(length)
        ? 'transfer closed with outstanding read data remaining'
        : `transfer closed with ${length - got} bytes remaining to read`,
    );
  }
}

type Patience = <T>(next: Promise<T>) => Promise<T>;

/** `--speed-time`: whoever sends nothing for so long is too slow. That much comes slowly is no case of the world. */
function patienceOf(process: RescueProcess, { options }: Arguments): Patience {
  const [limit = '1', time] = [options.get('speed-limit'), options.get('speed-time')];
  if (time === undefined) return (next) => next;
  const words = `Operation too slow. Less than ${limit} bytes/sec transferred the last ${time} seconds`;
  return (next) => waitAtMost(next, Number(time), process, () => new FetchError(28, words));
}

const curl: RescueProgram = async (process) => {
  const parsed = parseArguments(process.args.slice(1), {
    short: 'fsSLo:OH:X:Ikw:d:m:#vNZgqR4',
    long: [
      ...[
        'fail',
        'silent',
        'show-error',
        'location',
        'output=',
        'remote-name',
        'header=',
        'request=',
        'head',
        'insecure',
        'write-out=',
        'max-time=',
        'connect-timeout=',
        'retry=',
        'retry-delay=',
        'retry-max-time=',
      ],
      ...[
        'retry-connrefused',
        'retry-all-errors',
        'cacert=',
        'no-progress-meter',
        'no-buffer',
        'proto=',
        'proto-redir=',
        'fail-with-body',
        'globoff',
        'create-dirs',
        'user-agent=',
        'noproxy=',
        'limit-rate=',
        'speed-limit=',
        'speed-time=',
        'max-redirs=',
        'tlsv1.2',
        'compressed',
        'ipv4',
        'remove-on-error',
        'url=',
        'http1.1',
      ],
    ],
    same: {
      fail: 'f',
      silent: 's',
      'show-error': 'S',
      location: 'L',
      output: 'o',
      'remote-name': 'O',
      header: 'H',
      request: 'X',
      head: 'I',
      insecure: 'k',
      'write-out': 'w',
      'max-time': 'm',
    },
  });
  const { options, operands, unknown } = parsed;
  if (unknown !== undefined) {
    await process.error(
      `curl: option ${unknown}: is unknown\ncurl: try 'curl --help' or 'curl --manual' for more information\n`,
    );
    return 2;
  }
  const [url = options.get('url')] = operands;
  if (url === undefined) {
    await process.error(`curl: try 'curl --help' or 'curl --manual' for more information\n`);
    return 2;
  }
  const tries = 1 + Number(options.get('retry') ?? 0);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transfer(process, url, parsed);
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      const mayRetry =
        [28, 22, 52].includes(error.status) ||
        (error.status === 7 && options.has('retry-connrefused')) ||
        options.has('retry-all-errors');
      if (attempt < tries && mayRetry && error.status !== 22) {
        await process.sleep(Number(options.get('retry-delay') ?? 1));
        continue;
      }
      if (!options.has('s') || options.has('S')) await process.error(`curl: (${error.status}) ${error.message}\n`);
      return error.status;
    }
  }
};

async function transfer(process: RescueProcess, url: string, words: Arguments): Promise<number> {
  const { options, all } = words;
  const headers = Object.fromEntries(
    all.filter(([name]) => name === 'H').map(([, value]) => value.split(/:\s*(.*)/s, 2) as [string, string]),
  );
  const trusted = options.get('cacert') ?? process.environment.get('CURL_CA_BUNDLE');
  const authority = trusted === undefined ? undefined : await readAuthority(process, trusted);
  const limit = options.get('m');
  const signal =
    limit === undefined ? process.signal : AbortSignal.any([process.signal, timeLimit(process, Number(limit))]);
  const answer = await open(url, {
    method: options.get('X') ?? (options.has('I') ? 'HEAD' : 'GET'),
    headers: { 'user-agent': 'curl/7.88.1', accept: '*/*', ...headers },
    insecure: options.has('k'),
    authority,
    connectSeconds: Number(options.get('connect-timeout') ?? 30),
    follows: options.has('L'),
    protocols: protocolsIn(options.get('proto')),
    redirectProtocols: protocolsIn(options.get('proto-redir')),
    signal,
  });
  const { statusCode = 0 } = answer;
  if (statusCode >= 400 && options.has('f')) {
    answer.destroy();
    await writeOut(process, options.get('w'), statusCode, 0);
    throw new FetchError(22, `The requested URL returned error: ${statusCode}`);
  }
  const path = options.get('o') ?? (options.has('O') ? (new URL(url).pathname.split('/').pop() ?? '') : undefined);
  const output = path === undefined || path === '-' ? undefined : await openOutput(process, path);
  let bytes = 0;
  try {
    if (options.has('I'))
      await process.out(
        `HTTP/1.1 ${statusCode} ${answer.statusMessage}\r\n${Object.entries(answer.headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n`,
      );
    for await (const chunk of bodyOf(answer, signal, patienceOf(process, words))) {
      bytes += chunk.length;
      if (output) await save(output, chunk, process);
      else await process.out(chunk);
    }
  } finally {
    output?.close();
    answer.destroy();
  }
  await writeOut(process, options.get('w'), statusCode, bytes);
  return 0;
}

function timeLimit({ system, signal }: RescueProcess, seconds: number): AbortSignal {
  const end = new AbortController();
  system.clock.sleep(seconds, signal).then(
    () => end.abort(new FetchError(28, `Operation timed out after ${seconds * 1000} milliseconds`)),
    () => undefined,
  );
  return end.signal;
}

async function readAuthority(process: RescueProcess, path: string): Promise<Buffer> {
  try {
    return await process.readFile(path);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    throw new FetchError(77, `error setting certificate verify locations:  CAfile: ${path}`);
  }
}

async function openOutput(process: RescueProcess, path: string): Promise<Descriptor> {
  try {
    return await process.open(path, { read: false, write: true, create: true, truncate: true });
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    throw new FetchError(23, 'Failure writing output to destination');
  }
}

async function save(output: Descriptor, chunk: Buffer, { signal }: RescueProcess): Promise<void> {
  try {
    await output.file.write(chunk, signal);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    throw new FetchError(23, 'Failure writing output to destination');
  }
}

async function writeOut(
  process: RescueProcess,
  format: string | undefined,
  status: number,
  bytes: number,
): Promise<void> {
  if (format === undefined) return;
  const values: Readonly<Record<string, string>> = {
    http_code: String(status),
    response_code: String(status),
    size_download: String(bytes),
  };
  await process.out(format.replace(/%\{(\w+)\}/g, (_, name: string) => values[name] ?? '').replaceAll('\\n', '\n'));
}

const wget: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'qO:T:t:n:c4',
    long: [
      'quiet',
      'output-document=',
      'timeout=',
      'tries=',
      'no-check-certificate',
      'no-verbose',
      'show-progress',
      'progress=',
      'ca-certificate=',
    ],
    same: { quiet: 'q', 'output-document': 'O' },
  });
  if (unknown !== undefined) return await process.fail(`unrecognized option '${unknown}'`, 2);
  const [url = ''] = operands;
  try {
    const answer = await open(url, {
      ...{
        method: 'GET',
        headers: { 'user-agent': 'Wget/1.21.3' },
        authority: undefined,
        follows: true,
        protocols,
        redirectProtocols: protocols,
        signal: process.signal,
      },
      insecure: options.has('no-check-certificate'),
      connectSeconds: Number(options.get('T') ?? 30),
    });
    if ((answer.statusCode ?? 0) >= 400) {
      answer.destroy();
      if (!options.has('q')) await process.error(`ERROR ${answer.statusCode}: ${answer.statusMessage}.\n`);
      return 8;
    }
    const path = options.get('O') ?? (parse(url).pathname.split('/').pop() || 'index.html');
    const output = path === '-' ? undefined : await openOutput(process, path);
    try {
      for await (const chunk of bodyOf(answer, process.signal)) {
        if (output) await save(output, chunk, process);
        else await process.out(chunk);
      }
    } finally {
      output?.close();
      answer.destroy();
    }
    return 0;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    if (!options.has('q')) await process.fail(error.message);
    return error.status === 23 ? 3 : 4;
  }
};

export const fetchTools: Readonly<Record<string, RescueProgram>> = { curl, wget };
