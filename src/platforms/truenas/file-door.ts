import type { Agent } from 'undici';
import type { CheckContext, Closable } from '../../engine/platform.ts';
import { type Code, ProviderError } from '../../lib/errors.ts';
import { httpAgent } from '../../lib/http.ts';
import { trustedBy } from './client.ts';
import { endpointOf, type TrueNasConfig } from './config.ts';
import { asFingerprintError } from './errors.ts';

/** As many machines are made side by side as TrueNAS runs calls of a connection: none of them waits for its seed to be sent. */
const filesAtOnce = 10;

/** HTTPS connections to one system, for whole files only. */
class FileAgent implements Closable {
  readonly agent: Agent;
  constructor({ ca, pin }: ReturnType<typeof trustedBy>) {
    this.agent = httpAgent({ ...(ca ? { ca } : {}), ...(pin ? { pin } : {}), connections: filesAtOnce });
  }
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/** The door through which whole files go in; those that come out have a path of their own on the same host. */
export function fileDoor({ config, connections }: Pick<CheckContext<TrueNasConfig>, 'config' | 'connections'>): {
  readonly url: string;
  readonly agent: Agent;
} {
  const { uploadUrl: url } = endpointOf(config);
  const trusted = trustedBy(config);
  const { agent } = connections.get(`truenas-files:${url}:${trusted.print}`, () => new FileAgent(trusted));
  return { url, agent };
}

/** What broke on the way, in the words of this platform; `failed` is what it is when the way itself broke. */
export function toFileError(error: unknown, failed: Code, path: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code === 'TLS_UNTRUSTED') return new ProviderError('TRUENAS_TLS_UNTRUSTED', '', { cause: error });
  const distrusted = asFingerprintError(error);
  if (distrusted) return distrusted;
  if (error.code !== 'UNREACHABLE') return error;
  // Undici wraps what the body threw, e.g. that the download broke: that is the better story.
  const { cause } = error;
  if (cause instanceof ProviderError) return cause;
  return new ProviderError(failed, `${path}: ${error.message}`, { cause: error });
}
