import type { Agent } from 'undici';
import type { Closable, PlatformContext } from '../../../engine/platform.ts';
import { type ErrorCode, ProviderError } from '../../../lib/errors.ts';
import { createHttpAgent } from '../../../lib/net/http.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { toFingerprintError } from '../errors.ts';
import { trustAnchorsOf } from './client.ts';

/** As many machines are made side by side as TrueNAS runs calls of a connection: none of them waits for its seed to be sent. */
const maxConcurrentFiles = 10;

/** HTTPS connections to one system, for whole files only. */
class FileAgent implements Closable {
  readonly agent: Agent;
  constructor({ ca, pin }: ReturnType<typeof trustAnchorsOf>) {
    this.agent = createHttpAgent({ ...(ca ? { ca } : {}), ...(pin ? { pin } : {}), connections: maxConcurrentFiles });
  }
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/** The door through which whole files go in; those that come out have a path of their own on the same host. */
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

/** What broke on the way, in the words of this platform; `failed` is what it is when the way itself broke. */
export function toFileError(error: unknown, failed: ErrorCode, path: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code === 'TLS_UNTRUSTED') return new ProviderError('TRUENAS_TLS_UNTRUSTED', '', { cause: error });
  const distrusted = toFingerprintError(error);
  if (distrusted) return distrusted;
  if (error.code !== 'UNREACHABLE') return error;
  // Undici wraps what the body threw, e.g. that the download broke: that is the better story.
  const { cause } = error;
  if (cause instanceof ProviderError) return cause;
  return new ProviderError(failed, `${path}: ${error.message}`, { cause: error });
}
