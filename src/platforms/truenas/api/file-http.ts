import type { Agent } from 'undici';
import type { Closable } from '../../../engine/connection.ts';
import type { PlatformContext } from '../../../engine/contexts.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { createHttpAgent } from '../../../lib/net/http.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { TrueNasError, type TrueNasErrorCode } from '../error-codes.ts';
import { toFingerprintError } from '../errors.ts';
import { trustAnchorsOf } from './client.ts';

/** As many as the calls that TrueNAS processes per connection, so that no machine waits for the upload of its seed. */
const maxConcurrentFiles = 10;

/** HTTPS connections to one system, for file transfers only. */
class FileAgent implements Closable {
  readonly agent: Agent;
  constructor({ ca, pin }: ReturnType<typeof trustAnchorsOf>) {
    this.agent = createHttpAgent({ ...(ca ? { ca } : {}), ...(pin ? { pin } : {}), connections: maxConcurrentFiles });
  }
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/** URL of uploads; a download has its own path on the same host. */
export function fileEndpointOf({
  config,
  connections,
}: Pick<PlatformContext<TrueNasConfig>, 'config' | 'connections'>): {
  readonly url: string;
  readonly agent: Agent;
} {
  const { uploadUrl: url } = systemEndpointOf(config);
  const trusted = trustAnchorsOf(config);
  const { agent } = connections.get(`truenas-files:${url}:${trusted.print}`, () => new FileAgent(trusted));
  return { url, agent };
}

/** Maps a transport error to an error code; `failed` is the code for a broken transfer. */
export function toFileError(error: unknown, failed: TrueNasErrorCode, path: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code === 'TLS_UNTRUSTED') return new TrueNasError('TRUENAS_TLS_UNTRUSTED', '', { cause: error });
  const distrusted = toFingerprintError(error);
  if (distrusted) return distrusted;
  if (error.code !== 'UNREACHABLE') return error;
  // Undici wraps errors of the body, e.g. of a broken download. The wrapped error is more useful.
  const { cause } = error;
  if (cause instanceof ProviderError) return cause;
  return new TrueNasError(failed, `${path}: ${error.message}`, { cause: error });
}
