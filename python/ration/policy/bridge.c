// SPDX-License-Identifier: BSL-1.0
/* A policy's file as a plugin. It brings CPython along, so it may only live in a worker process and stays loaded until
 * that ends. The text of the file, and of ration.policy, is part of the .so: what was checked is what runs. Columns are
 * memoryviews of the host's own memory, nothing is copied. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <ration/plugin/abi.h>

/* Made by python3 -m ration.policy header; it uses names of abi.h. */
#include <policy_manifest.h>

enum { FLAGS = RATION_F_DETERMINISTIC | RATION_F_NO_UNLOAD | RATION_F_OUT_OF_PROCESS_ONLY };
RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            FLAGS,
                            POLICY_ID,
                            POLICY_NAME,
                            POLICY_VERSION,
                            "",
                            "",
                            POLICY_SUMMARY,
                            POLICY_NEEDS,
                            "",
                            POLICY_REASONS,
                            POLICY_PARAMETERS,
                            ""};

typedef struct instance {
    ration_host const* host;
    PyObject *policy, *tick, *grant, *names[COLUMNS];
    uint32_t slots[COLUMNS], widths[COLUMNS];
    ration_out* out; /* of the call that runs */
    uint64_t asked;  /* grants of this call, those without a place included */
} instance;

static PyObject *policy_class, *tick_class, *rows_class, *wrong_parameter, *word_told, *word_file, *api, *word_decide,
    *word_release, *word_cast, *word_made, *word_number, *word_seed, *word_now;

/* The text of the Python exception, which is then over. */
static int32_t emit(char* err, uint64_t err_size, int32_t code) {
    PyObject *type, *value, *trace, *text;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value != NULL && trace != NULL) PyException_SetTraceback(value, trace);
    text = value != NULL && api != NULL ? PyObject_CallMethodObjArgs(api, word_told, value, word_file, NULL) : NULL;
    PyErr_Clear(); /* an exception without a text: its type then */
    if (text == NULL && value != NULL) text = PyObject_Repr((PyObject*)Py_TYPE(value));
    if (err_size != 0)
        snprintf(err, (size_t)err_size, "%s", text != NULL ? PyUnicode_AsUTF8(text) : "CPython gives no reason");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return code;
}

/* Isolated: no environment, no signal handlers, no locale, no site; and the same hashes in every process. */
static int start_python(char* err, uint64_t err_size) {
    Dl_info library;
    PyStatus status;
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    config.site_import = 0;
    config.write_bytecode = 0;
    status = PyConfig_SetBytesString(&config, &config.program_name, PYTHON_EXECUTABLE);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        snprintf(err, (size_t)err_size, "CPython does not start: %s",
                 status.err_msg != NULL ? status.err_msg : "no reason given");
        return 0;
    }
    /* Extension modules do not say that they need libpython: they look for it among what everybody sees. */
    if (dladdr((void*)Py_IsInitialized, &library) != 0) dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    return 1;
}

/* A module of this name from its text, ready to be imported; it stays as long as the process. Borrowed. */
static PyObject* module_of(char const* name, char const* file, char const* source) {
    PyObject *module = PyImport_AddModule(name), *names, *done = NULL, *code;
    if (module == NULL) return NULL;
    names = PyModule_GetDict(module);
    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
    code = Py_CompileString(source, file, Py_file_input);
    if (code != NULL) done = PyEval_EvalCode(code, names, names);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return done != NULL ? module : NULL;
}

static int load_policy(void) {
    PyObject* module;
    word_told = PyUnicode_InternFromString("told");
    word_file = PyUnicode_InternFromString(POLICY_FILE);
    if (PyImport_AddModule("ration") == NULL) return 0;
    api = module_of("ration.policy", "ration/policy.py", api_source);
    module = api != NULL ? module_of("policy", POLICY_FILE, policy_source) : NULL;
    if (module == NULL) return 0;
    tick_class = PyObject_GetAttrString(api, "Tick");
    rows_class = PyObject_GetAttrString(api, "Rows");
    wrong_parameter = PyObject_GetAttrString(api, "WrongParameter");
    word_made = PyUnicode_InternFromString("made");
    policy_class = PyObject_CallMethod(api, "policy_in", "O", PyModule_GetDict(module));
    word_decide = PyUnicode_InternFromString("decide");
    word_release = PyUnicode_InternFromString("release");
    word_cast = PyUnicode_InternFromString("cast");
    word_number = PyUnicode_InternFromString("number");
    word_seed = PyUnicode_InternFromString("seed");
    word_now = PyUnicode_InternFromString("now_ns");
    return policy_class != NULL && tick_class != NULL && rows_class != NULL && wrong_parameter != NULL;
}

static PyObject* grant_one(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
    static char const* const names[] = {"job", "node", "resource", "amount", "reason", "group"};
    static long long const most[] = {UINT32_MAX, UINT32_MAX, UINT16_MAX, INT64_MAX, UINT16_MAX, UINT32_MAX};
    instance* mine = PyCapsule_GetPointer(capsule, NULL);
    long long given[6] = {0};
    Py_ssize_t i;
    if (count < 4 || count > 6) {
        PyErr_SetString(PyExc_TypeError, "grant takes job, node, resource and amount, and may take reason and group");
        return NULL;
    }
    for (i = 0; i < count; ++i) {
        given[i] = PyLong_AsLongLong(args[i]);
        if (given[i] == -1 && PyErr_Occurred()) return NULL;
        if (given[i] < 0 || given[i] > most[i]) /* cut to the width of its field it would be another one */
            return PyErr_Format(PyExc_ValueError, "grant: %s is %lld, and not from 0 to %lld", names[i], given[i],
                                most[i]);
    }
    if (mine->out == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "grant is for the time of decide");
        return NULL;
    }
    if (mine->asked++ < mine->out->capacity) {
        ration_grant* to = &mine->out->grant[mine->asked - 1];
        to->job = (uint32_t)given[0];
        to->node = (uint32_t)given[1];
        to->resource = (uint16_t)given[2];
        to->amount = given[3];
        to->reason = (uint16_t)given[4];
        to->group = (uint32_t)given[5];
    }
    Py_RETURN_NONE;
}
static PyMethodDef grant_method = {"grant", (PyCFunction)(void (*)(void))grant_one, METH_FASTCALL, NULL};

static int make(instance* mine, char const* config, uint64_t length) {
    PyObject *capsule = PyCapsule_New(mine, NULL, NULL), *given;
    int i;
    if (capsule == NULL) return 0;
    mine->grant = PyCFunction_New(&grant_method, capsule);
    Py_DECREF(capsule);
    mine->tick = PyObject_CallNoArgs(tick_class);
    for (i = 0; i < COLUMNS; ++i) mine->names[i] = PyUnicode_InternFromString(wanted[i].name);
    given = PyUnicode_FromStringAndSize(length != 0 ? config : "{}", length != 0 ? (Py_ssize_t)length : 2);
    if (given == NULL) return 0;
    mine->policy = PyObject_CallMethodObjArgs(api, word_made, policy_class, given, NULL);
    Py_DECREF(given);
    return mine->policy != NULL && mine->grant != NULL && mine->tick != NULL;
}

static void destroy(void* self) {
    instance* mine = self;
    PyGILState_STATE held = PyGILState_Ensure();
    int i;
    Py_XDECREF(mine->policy);
    Py_XDECREF(mine->tick);
    Py_XDECREF(mine->grant);
    for (i = 0; i < COLUMNS; ++i) Py_XDECREF(mine->names[i]);
    PyGILState_Release(held);
    free(mine);
}

static int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
                      uint64_t err_size) {
    instance* mine;
    PyGILState_STATE held;
    int32_t reply = RATION_OK;
    if (!Py_IsInitialized()) {
        if (!start_python(err, err_size)) return RATION_E_INTERNAL;
        PyEval_SaveThread();
    }
    mine = calloc(1, sizeof *mine);
    if (mine == NULL) return RATION_E_NOMEM;
    mine->host = host;
    held = PyGILState_Ensure();
    if ((policy_class == NULL && !load_policy()) || !make(mine, config, length))
        reply = emit(
            err, err_size,
            wrong_parameter != NULL && PyErr_ExceptionMatches(wrong_parameter) ? RATION_E_ARG : RATION_E_EXCEPTION);
    PyGILState_Release(held);
    if (reply != RATION_OK) {
        destroy(mine);
        return reply;
    }
    *self = mine;
    return RATION_OK;
}

static int find(ration_schema const* schema, const struct wanted* column_wanted, uint32_t* slot, uint32_t* width) {
    char const* at = (char const*)schema->column;
    uint32_t i;
    for (i = 0; i < schema->n_columns; ++i, at += schema->column_stride) { /* a later host's columns are longer */
        ration_column const* column = (ration_column const*)at;
        if (strcmp(column->name, column_wanted->name) != 0) continue;
        *slot = column->slot;
        *width = column->width;
        return column->type == column_wanted->type && (column_wanted->several ? *width >= 1 : *width == 1) &&
               column->slot != RATION_NO_SLOT;
    }
    return 0;
}

static int32_t bind_columns(void* self, ration_schema const* schema, uint64_t* scratch_size, char* err,
                            uint64_t err_size) {
    instance* mine = self;
    int i;
    *scratch_size = 0;
    for (i = 0; i < COLUMNS; ++i)
        if (!find(schema, &wanted[i], &mine->slots[i], &mine->widths[i])) {
            snprintf(err, (size_t)err_size, "%s: this host does not offer the column as the policy needs it",
                     wanted[i].name);
            return RATION_E_UNSUPPORTED;
        }
    return RATION_OK;
}

/* A view of the host's memory, in items of its type; where a row has several of them, as Rows. */
static PyObject* view(ration_table const* table, uint32_t slot, uint32_t width, const struct wanted* column) {
    static char const formats[] = {0, 'I', 'q', 'Q', 'f', 'd'};
    static Py_ssize_t const sizes[] = {0, 4, 8, 8, 4, 8};
    static char nothing[8];
    char* data = table->n_rows != 0 ? (char*)table->slot[slot] : nothing; /* PyBUF_READ: Python does not write there */
    PyObject *bytes =
                 PyMemoryView_FromMemory(data, (Py_ssize_t)table->n_rows * width * sizes[column->type], PyBUF_READ),
             *format, *items = NULL;
    if (bytes == NULL) return NULL;
    format = PyUnicode_FromStringAndSize(&formats[column->type], 1);
    if (format != NULL) items = PyObject_CallMethodOneArg(bytes, word_cast, format);
    Py_XDECREF(format);
    Py_DECREF(bytes);
    if (items == NULL || !column->several) return items;
    return PyObject_CallFunction(rows_class, "NI", items, (unsigned)width);
}

static int set(PyObject* tick, PyObject* name, PyObject* value) {
    int const reply = value == NULL ? -1 : PyDict_SetItem(tick, name, value);
    Py_XDECREF(value);
    return reply == 0;
}

static int show(instance* mine, ration_tick const* tick) {
    int i, good = set(mine->tick, word_number, PyLong_FromUnsignedLongLong(tick->number)) &&
                  set(mine->tick, word_seed, PyLong_FromUnsignedLongLong(tick->seed)) &&
                  set(mine->tick, word_now, PyLong_FromLongLong(tick->now_ns));
    for (i = 0; good && i < COLUMNS; ++i)
        good = set(mine->tick, mine->names[i],
                   view(tick->table[wanted[i].table], mine->slots[i], mine->widths[i], &wanted[i]));
    return good;
}

/* A view that was kept raises an exception from now on, instead of showing later data of the host. */
static void hide(instance* mine) {
    int i;
    for (i = 0; i < COLUMNS; ++i) {
        PyObject* items = PyDict_GetItem(mine->tick, mine->names[i]);
        Py_XDECREF(items != NULL ? PyObject_CallMethodNoArgs(items, word_release) : NULL);
        PyErr_Clear();
    }
}

static int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    instance* mine = self;
    PyGILState_STATE held = PyGILState_Ensure();
    PyObject* done = NULL;
    char text[400];
    mine->out = out;
    mine->asked = 0;
    if (show(mine, tick)) done = PyObject_CallMethodObjArgs(mine->policy, word_decide, mine->tick, mine->grant, NULL);
    mine->out = NULL;
    if (done == NULL) {
        emit(text, sizeof text, RATION_E_EXCEPTION);
        mine->host->log(mine->host->ctx, RATION_LOG_ERROR, text, strlen(text));
    }
    hide(mine);
    Py_XDECREF(done);
    PyGILState_Release(held);
    if (done == NULL) return RATION_E_EXCEPTION;
    if (mine->asked > out->capacity) {
        out->needed = mine->asked;
        return RATION_E_CAPACITY;
    }
    out->count = mine->asked;
    return RATION_OK;
}

extern RATION_EXPORT const ration_policy ration_policy_v1;
ration_policy const ration_policy_v1 = {
    sizeof(ration_policy), FLAGS, &manifest, create, destroy, bind_columns, NULL, decide, NULL, NULL, NULL};
