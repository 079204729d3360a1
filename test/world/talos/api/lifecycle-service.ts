import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { LifecycleService } from '../../../../src/talos/gen/lifecycle_pb.ts';
import { findImage } from '../images/image-store.ts';
import { runUpgradeInstaller } from '../lifecycle/run-installer.ts';
import type { TalosNode } from '../node.ts';
import { failedPreconditionError, invalidArgumentError } from './errors.ts';
import { imageNamespaceOf } from './image-service.ts';

/** Nodes on which an installer runs. */
const busy = new WeakSet<TalosNode>();

/** The lifecycle service since Talos 1.13 (talos: internal/app/lifecycle/lifecycle.go). */
export function lifecycleService(node: TalosNode): Partial<ServiceImpl<typeof LifecycleService>> {
  return {
    async *upgrade({ containerd, source }) {
      if (busy.has(node)) throw failedPreconditionError('another installation/upgrade is already in progress');
      if (node.systemDisk === undefined) throw failedPreconditionError('machine is not installed');
      const name = source?.imageName ?? '';
      if (name === '') throw invalidArgumentError('installer image name is required');
      const image = findImage(
        node,
        asInternal(() => imageNamespaceOf(node, containerd)),
        name,
      );
      if (!image)
        throw internalError(`installer image "${name}" not found in containerd store: image "${name}": not found`);
      if (!image.system) throw internalError('failed to start task: exec: "/bin/installer": no such file or directory');
      const output = new LineQueue();
      busy.add(node);
      // The installer continues when the caller is gone.
      const over = runUpgradeInstaller(node, {
        system: image.system,
        print: (line) => {
          node.log(`upgrade progress: ${line}`);
          output.add(line);
        },
        sleep: (seconds) => node.sleep(seconds),
      }).finally(() => {
        busy.delete(node);
        output.end();
      });
      over.catch(() => {});
      for await (const line of output)
        yield { progress: { response: { case: 'message' as const, value: `${line}\n` } } };
      yield { progress: { response: { case: 'exitCode' as const, value: await over } } };
    },
  };
}

const internalError = (reason: string): ConnectError => new ConnectError(`upgrade failed: ${reason}`, Code.Internal);

/** The error of an inner call has its own code in the message only. */
function asInternal<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    throw internalError(`rpc error: code = ${Code[code]} desc = ${rawMessage}`);
  }
}

/** Lines until the end, for one reader. */
class LineQueue implements AsyncIterable<string> {
  readonly #lines: string[] = [];
  #ended = false;
  #wake: () => void = () => {};

  add(line: string): void {
    this.#lines.push(line);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      while (this.#lines.length > 0) yield this.#lines.shift() ?? '';
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
