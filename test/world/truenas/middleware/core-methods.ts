import type { TrueNasRelease } from '../versions.ts';
import { ArgumentsError, CallError, errnos } from './errors.ts';
import type { ApiMethod, CallContext } from './method.ts';
import {
  booleanModel,
  defaultedField,
  integerModel,
  listModel,
  nullableModel,
  objectModel,
  optionalField,
  requiredField,
  textModel,
} from './parameter-model.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from './query.ts';

const options = objectModel({
  legacy_jobs: optionalField(booleanModel),
  private_methods: optionalField(booleanModel),
  py_exceptions: optionalField(booleanModel),
});

const arpOptions = objectModel({
  ip: defaultedField(nullableModel(textModel()), null),
  interface: defaultedField(nullableModel(textModel()), null),
});

/** `core.*`: ping, options of the connection, subscriptions and jobs. */
export function coreMethods(version: TrueNasRelease): readonly ApiMethod[] {
  return [
    { name: 'core.ping', parameters: [], access: 'anyone', run: () => 'pong' },
    {
      name: 'core.set_options',
      parameters: [{ name: 'options', field: defaultedField(options, {}) }],
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
      parameters: [{ name: 'event', field: requiredField(textModel()) }],
      access: 'user',
      run: ([event], { client }) => {
        if (!client.maySubscribe(String(event))) throw new CallError('Not authorized', errnos.EACCES);
        return client.subscribe(String(event));
      },
    },
    {
      name: 'core.unsubscribe',
      parameters: [{ name: 'id', field: requiredField(textModel()) }],
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
      parameters: [{ name: 'id', field: requiredField(integerModel()) }],
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
        { name: 'method', field: requiredField(textModel({ min: 1 })) },
        { name: 'params', field: requiredField(listModel({ read: (value) => value })) },
        { name: 'description', field: defaultedField(nullableModel(textModel()), null) },
      ],
      access: 'user',
      job: {},
      work: ([name, params], context) => runBulk(context, String(name), params as unknown[][]),
    },
    {
      name: 'core.arp',
      parameters: [{ name: 'options', field: defaultedField(arpOptions, { ip: null, interface: null }) }],
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
      parameters: [{ name: 'id', field: requiredField(integerModel()) }],
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

/** Calls one method for each argument list in turn. A failed call is part of the result and never fails the job. */
async function runBulk(context: CallContext, name: string, params: readonly unknown[][]): Promise<Entry[]> {
  const results: Entry[] = [];
  for (const args of params) {
    try {
      const result = await context.invoke(name, args);
      results.push({ job_id: typeof result === 'number' ? result : null, result, error: null });
    } catch (error) {
      const reason = error instanceof CallError || error instanceof ArgumentsError ? error.reason : String(error);
      results.push({ job_id: null, result: null, error: reason });
    }
  }
  return results;
}
