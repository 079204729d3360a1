import { CallError, errnos } from './errors.ts';
import type { Method } from './method.ts';
import { bool, integer, object, optional, required, text, withDefault } from './model.ts';
import { applyQuery, type QueryOptions, queryParameters } from './query.ts';
import type { Version } from './versions.ts';

const options = object({
  legacy_jobs: optional(bool),
  private_methods: optional(bool),
  py_exceptions: optional(bool),
});

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
