import { CallError, errnos, ValidationError } from './errors.ts';
import type { Context, Method } from './method.ts';
import { bool, integer, list, nullable, object, optional, required, text, withDefault } from './model.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from './query.ts';
import type { Version } from './versions.ts';

const options = object({
  legacy_jobs: optional(bool),
  private_methods: optional(bool),
  py_exceptions: optional(bool),
});

const arpOptions = object({ ip: withDefault(nullable(text()), null), interface: withDefault(nullable(text()), null) });

/** `core.*`: liveness, options of the connection, subscriptions and jobs. */
export function coreMethods(version: Version): readonly Method[] {
  return [
    { name: 'core.ping', parameters: [], access: 'anyone', run: () => 'pong' },
    {
      name: 'core.set_options',
      parameters: [{ name: 'options', field: withDefault(options, {}) }],
      access: 'anyone-unlimited',
      run: ([given], { client }) => {
        client.options = { ...client.options, ...(given as object) };
        if (version.hasJobOptions) return { ...client.options };
        client.options.legacy_jobs = true;
        return null;
      },
    },
    {
      name: 'core.subscribe',
      parameters: [{ name: 'event', field: required(text()) }],
      access: 'user',
      run: ([event], { client }) => {
        if (!client.maySubscribe(String(event))) throw new CallError('Not authorized', errnos.EACCES);
        return client.subscribe(String(event));
      },
    },
    {
      name: 'core.unsubscribe',
      parameters: [{ name: 'id', field: required(text()) }],
      access: 'user',
      run: ([id], { client }) => {
        client.unsubscribe(String(id));
        return null;
      },
    },
    {
      name: 'core.get_jobs',
      parameters: queryParameters,
      access: 'user',
      run: ([filters, query], { nas, client }) => {
        const owner = client.isFullAdmin ? undefined : client.identity?.user.name;
        return applyQuery(nas.jobs.entries(owner), filters, query as QueryOptions);
      },
    },
    {
      name: 'core.job_wait',
      parameters: [{ name: 'id', field: required(integer()) }],
      access: 'user',
      job: {},
      work: async ([id], { nas }) => {
        const job = nas.jobs.find(Number(id));
        if (!job) throw new CallError(`Job ${id} does not exist`, errnos.ENOENT);
        await job.ended;
        if (job.failure !== undefined) throw job.failure;
        return job.result;
      },
    },
    {
      name: 'core.bulk',
      parameters: [
        { name: 'method', field: required(text({ min: 1 })) },
        { name: 'params', field: required(list({ read: (value) => value })) },
        { name: 'description', field: withDefault(nullable(text()), null) },
      ],
      access: 'user',
      job: {},
      work: ([name, params], context) => runBulk(context, String(name), params as unknown[][]),
    },
    {
      name: 'core.arp',
      parameters: [{ name: 'options', field: withDefault(arpOptions, { ip: null, interface: null }) }],
      access: ['FULL_ADMIN'],
      run: ([given], { nas }) => {
        const wanted = given as { ip: string | null; interface: string | null };
        const found = nas.neighbours.filter(
          (one) => (wanted.ip ?? one.ip) === one.ip && (wanted.interface ?? one.interface) === one.interface,
        );
        return Object.fromEntries(found.map(({ ip, mac }) => [ip, mac]));
      },
    },
    {
      name: 'core.job_abort',
      parameters: [{ name: 'id', field: required(integer()) }],
      access: 'user',
      run: ([id], { nas }) => {
        const job = nas.jobs.find(Number(id));
        if (!job) throw new CallError(`Job ${id} does not exist`, errnos.ENOENT);
        if (!job.abortable) throw new CallError('Job is not abortable');
        job.abort();
        return null;
      },
    },
  ];
}

/** One method for many arguments, one after the other. What fails is in the result, and never fails the job. */
async function runBulk(context: Context, name: string, params: readonly unknown[][]): Promise<Entry[]> {
  const results: Entry[] = [];
  for (const args of params) {
    try {
      const result = await context.invoke(name, args);
      results.push({ job_id: typeof result === 'number' ? result : null, result, error: null });
    } catch (error) {
      const reason = error instanceof CallError || error instanceof ValidationError ? error.reason : String(error);
      results.push({ job_id: null, result: null, error: reason });
    }
  }
  return results;
}
