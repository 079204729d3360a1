import { type ServerEvent, ServerEventReader } from './event-stream.ts';
import { readToken } from './token.ts';

/** What is known of a view. */
export interface ViewState<T> {
  /** The last state, also while the connection is lost. */
  readonly data?: T;
  /** `gone`: the object does not exist. `sign-in`: a token is needed, or another one. */
  readonly connection: 'opening' | 'live' | 'polling' | 'lost' | 'gone' | 'sign-in';
  /** A sentence of the provider. */
  readonly problem?: string;
  /** Milliseconds that the clock of the provider is ahead of this one. */
  readonly clockOffset: number;
}

const pollMs = 10_000;
const maxRetryMs = 30_000;

/** Follows a view until the signal aborts: by a stream, or by polling while the provider has too many streams. */
export async function watchView<T>(
  path: string,
  report: (change: Partial<ViewState<T>>) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const end = await followStream(path, report, signal).catch(() => 'lost' as const);
    if (signal.aborted || end === 'stop') return;
    if (end === 'full') {
      if ((await poll(path, report, signal).catch(() => 'lost')) === 'stop') return;
      await pause(pollMs, signal);
      continue;
    }
    failures = end === 'ended' ? 0 : failures + 1;
    if (failures > 0) report({ connection: 'lost' });
    await pause(failures === 0 ? 100 : Math.min(maxRetryMs, 1000 * 2 ** Math.min(failures - 1, 5)), signal);
  }
}

type StreamEnd = 'ended' | 'full' | 'lost' | 'stop';

const request = (path: string, signal: AbortSignal): Promise<Response> => {
  const token = readToken();
  return fetch(path, { signal, cache: 'no-store', headers: token ? { authorization: `Bearer ${token}` } : {} });
};

async function followStream<T>(
  path: string,
  report: (change: Partial<ViewState<T>>) => void,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const response = await request(`api/v1/events?view=${encodeURIComponent(path)}`, signal);
  if (!response.ok || !response.body) return await reportRejection(response, report);
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const reader = new ServerEventReader();
  for (;;) {
    const { done, value } = await pieces.read();
    if (done) return 'ended';
    for (const event of reader.push(value)) report(toChange<T>(event));
  }
}

function toChange<T>({ event, data }: ServerEvent): Partial<ViewState<T>> {
  if (event === 'gone') return { connection: 'gone' };
  return event === 'time'
    ? { clockOffset: Date.parse(data) - Date.now(), connection: 'live' }
    : { data: JSON.parse(data) as T, connection: 'live' };
}

async function reportRejection<T>(
  response: Response,
  report: (change: Partial<ViewState<T>>) => void,
): Promise<StreamEnd> {
  const body = (await response.json().catch(() => ({}))) as { readonly error?: string };
  const problem = body.error ? { problem: body.error } : {};
  if (response.status === 401 || response.status === 403) {
    report({ connection: 'sign-in', ...problem });
    return 'stop';
  }
  if (response.status === 400 || response.status === 404) {
    report({ connection: 'gone', ...problem });
    return 'stop';
  }
  return response.headers.has('retry-after') ? 'full' : 'lost';
}

async function poll<T>(
  path: string,
  report: (change: Partial<ViewState<T>>) => void,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const response = await request(`api/v1/${path}`, signal);
  if (!response.ok) return await reportRejection(response, report);
  report({ data: (await response.json()) as T, connection: 'polling' });
  return 'ended';
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
