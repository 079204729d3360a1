import { isRejection } from '../../../kube/errors.ts';

/** An object of that name exists in the target cluster and has another owner. It is not changed. */
export class NotManagedError extends Error {}

/**
 * The target cluster rejected an object, and rejects it until the request or the cluster changes. The message names the
 * entry.
 */
export class TargetRejectionError extends Error {}

/**
 * Collects the rejections over all entries of a request, so that the user sees all of them at once. After a rejection
 * nothing more of that entry is created: a binding beside another owner's role of that name would grant its rules.
 */
export class RejectionCollector {
  readonly #errors: { readonly from: string; readonly error: NotManagedError | TargetRejectionError }[] = [];

  async collect(from: string, what: string, work: () => Promise<unknown>): Promise<void> {
    if (this.#errors.some((one) => one.from === from || one.from.startsWith(`${from}.`))) return;
    try {
      await withRejectedEntry(from, what, work);
    } catch (error) {
      if (!(error instanceof NotManagedError || error instanceof TargetRejectionError)) throw error;
      this.#errors.push({ from, error });
    }
  }

  /**
   * Throws one error for all. NotManagedError has priority, because it may come from a stale list and cause a retry.
   */
  raise(): void {
    if (this.#errors.length === 0) return;
    const message = this.#errors.map(({ error }) => error.message).join(' ');
    const isManaged = this.#errors.every(({ error }) => !(error instanceof NotManagedError));
    throw isManaged ? new TargetRejectionError(message) : new NotManagedError(message);
  }
}

/** Adds the entry of the request to an error of the cluster. */
async function withRejectedEntry<T>(from: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotManagedError) throw new NotManagedError(`${from}: ${error.message}`);
    if (!isRejection(error)) throw error;
    const text = (error as Error).message.replace(/[.!?]?$/, '.');
    throw new TargetRejectionError(`${from}: the cluster rejected ${what}: ${text} Correct the entry, or the cluster.`);
  }
}
