"""Texts of exceptions about gradients, dtypes, calls and names, and what each of them means."""

from autograder.diagnosis.error_texts import ErrorText

WORD = r"[\w.<>]{1,80}"
IN_PLACE = (
    "Which step writes into a tensor (with +=, into an index, or by a name that ends in an "
    "underscore) instead of making a new one?"
)
WHICH_SHAPE = "What is the shape before this step, and what does each of its axes stand for?"
WHICH_DTYPE = "Which of the tensors has not the dtype of the inputs, and where was it made?"
WHICH_MASK = "Which comparison gives True exactly where this step must act?"
WHICH_ARGUMENTS = "Which arguments does the definition have, and which does the call hand over?"
A_NUMBER = "Is this a tensor, or a Python number, for which Python has an operator or math?"

GRADIENTS = (
    ErrorText.of(
        "leaf_in_place",
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
        "A parameter, or an input that gets gradients, is changed in place, and torch refuses "
        "that.",
        IN_PLACE,
    ),
    ErrorText.of(
        "needed_later_in_place",
        r"one of the variables needed for gradient computation has been modified by an inplace",
        "A tensor is changed in place that the gradients are computed from.",
        IN_PLACE,
    ),
    ErrorText.of(
        "view_in_place",
        r"Output \d+ of \w{1,80} is a view and is being modified inplace",
        "One of several views of a tensor is changed in place, and torch refuses that where "
        "gradients are needed.",
        IN_PLACE,
    ),
    ErrorText.of(
        "leaves_torch",
        r"Can't call numpy\(\) on Tensor that requires grad",
        "A tensor that gets gradients is handed to numpy, through which no gradient can flow.",
        "Which function of torch does the same?",
    ),
    ErrorText.of(
        "no_graph",
        r"element 0 of tensors does not require grad",
        "backward is called on a tensor that depends on nothing that gets gradients.",
        "Which values does it come from, and does the exercise ask for backward?",
    ),
)
DTYPES = (
    ErrorText.of(
        "mask_of_numbers",
        r"masked_\w{1,80} only supports boolean masks|masked_select: expected BoolTensor for mask"
        r"|where expected condition to be a boolean tensor",
        "This step acts where its mask is True: it needs booleans, and yours holds numbers.",
        WHICH_MASK,
    ),
    ErrorText.of(
        "mask_for_attention",
        r"Expected attn_mask dtype to be bool or float",
        "scaled_dot_product_attention takes a mask of booleans, True where a key is visible, or "
        "one of the queries' dtype that is added to the scores; yours is neither.",
        "Which comparison gives True exactly where a key is visible?",
    ),
    ErrorText.of(
        "two_masks",
        r"_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
        "scaled_dot_product_attention gets a mask and is_causal=True; it takes one of the two.",
        "Which of the two hides what the exercise asks for?",
    ),
    ErrorText.of(
        "minus_of_booleans",
        r"(?:Subtraction|Negation), the `-` operator, (?:with|on) (?:a|two) bool tensors? is not",
        "A minus sign is applied to booleans, which torch refuses.",
        "Which operator turns True into False?",
    ),
    ErrorText.of(
        "index_of_fractions",
        r"tensors used as indices must be long, int, byte or bool tensors"
        r"|~ \(operator\.invert\) is only implemented on integer and Boolean",
        "This step needs booleans or whole numbers, and the tensor holds floating-point numbers.",
        WHICH_MASK,
    ),
    ErrorText.of(
        "tensor_as_condition",
        r"Boolean value of Tensor with more than one value is ambiguous",
        "A tensor of several numbers is used as one condition, by if, and, or, or not.",
        "Is the question whether it is None, or something about each of its entries?",
    ),
    ErrorText.of(
        "tensor_as_number",
        r"only one element tensors can be converted|only integer tensors of a single element"
        r"|a Tensor with \d+ elements cannot be converted to Scalar",
        "A tensor of several numbers is used where one number is needed.",
        WHICH_SHAPE,
    ),
    ErrorText.of(
        "dtypes_differ",
        r"mat1 and mat2 must have the same dtype, but got (?P<a>\w{1,20}) and (?P<b>\w{1,20})",
        "Two tensors of different dtypes are multiplied.",
        WHICH_DTYPE,
        "Two tensors of different dtypes are multiplied: {a} and {b}.",
    ),
    ErrorText.of(
        "dtypes_differ",
        r"expected m1 and m2 to have the same dtype, but got: (?P<a>[\w ]{1,20}) != "
        r"(?P<b>[\w ]{1,20})$",
        "Two tensors of different dtypes are multiplied.",
        WHICH_DTYPE,
        "Two tensors of different dtypes are multiplied: {a} and {b}.",
    ),
    ErrorText.of(
        "dtypes_differ",
        r"expected scalar type \w{1,20} but found"
        r"|dot : expected both vectors to have same dtype, but found \w{1,20} and"
        r"|addmv input tensors must have the same dtype",
        "Two tensors of different dtypes meet in one operation.",
        WHICH_DTYPE,
    ),
    ErrorText.of(
        "whole_numbers",
        r"\"\w{1,80}\" not implemented for '(?:Long|Int|Short|Char|Byte)'"
        r"|mean\(\): could not infer output dtype",
        "torch does not have this operation for whole numbers.",
        WHICH_DTYPE,
    ),
    ErrorText.of(
        "no_gradients",
        r"Only Tensors of floating point and complex dtype can require gradients",
        "Whole numbers, or booleans, can't get gradients.",
        WHICH_DTYPE,
    ),
    ErrorText.of(
        "stored_as_whole",
        r"result type Float can't be cast to the desired output type (?:Long|Int)"
        r"|value cannot be converted to type int64_t without overflow",
        "A tensor of whole numbers is to take a number that is not whole, or is infinite.",
        WHICH_DTYPE,
    ),
)
PYTHON = (
    ErrorText.of(
        "none_is_used",
        r"'NoneType' object (?:has no attribute|is not (?:subscriptable|iterable|callable))"
        r"|unsupported operand type\(s\) for [^:]{1,12}: "
        r"(?:'NoneType' and|'\w{1,80}' and 'NoneType')"
        r"|\w{1,80}\(\): argument '\w{1,80}' \(position \d+\) must be Tensor, not NoneType"
        r"|expected Tensor as element \d+ in argument \d+, but got NoneType"
        r"|cannot unpack non-iterable NoneType|expected a tensor, not NoneType",
        "Something that is used here is None; a function that ends without `return` gives None, "
        "and so does an argument that is left out and has this default.",
        "Where does the value come from, and does every function on its way return it?",
    ),
    ErrorText.of(
        "init_not_called",
        r"cannot assign (?:module|parameter|buffer)s? before Module\.__init__\(\) call"
        rf"|'{WORD}' object has no attribute "
        r"'_(?:(?:back|for)ward\w*hooks|modules|parameters|buffers)'",
        "nn.Module is not initialised: `super().__init__()` must run first in `__init__`.",
        "Which line must come first in __init__?",
    ),
    ErrorText.of(
        "no_forward",
        r"Module \[\w{1,80}\] is missing the required \"forward\" function",
        "A module is called that has no forward: its name must be exactly that, and a ModuleList "
        "only holds layers.",
        "Which module is called here, and where is its forward?",
    ),
    ErrorText.of(
        "layer_as_tensor",
        r"unsupported operand type\(s\) for [^:]{1,12}: (?:'(?:Linear|Dropout|Embedding)' and"
        r"|'\w{1,80}' and '(?:Linear|Dropout|Embedding)')",
        "A layer is used like a tensor; a layer is called with a tensor.",
        "What goes into the layer, and what comes out?",
    ),
    ErrorText.of(
        "object_as_tensor",
        r"unsupported operand type\(s\) for [^:]{1,12}: (?:'[A-Z]\w{0,80}' and 'Tensor'"
        r"|'Tensor' and '[A-Z]\w{0,80}')",
        "Something that is no tensor, such as a module itself, stands where a tensor is needed.",
        "What must be called here, and with what, to get a tensor?",
    ),
    ErrorText.of(
        "list_as_tensor",
        r"unsupported operand type\(s\) for [^:]{1,12}: (?:'(?:list|tuple)' and"
        r"|'\w{1,80}' and '(?:list|tuple)')"
        r"|'(?:list|tuple)' object has no attribute '(?:[mM]?[TH]|shape|size|dim|ndim|dtype|device"
        r"|view|reshape|transpose|permute|unsqueeze|squeeze|sum|softmax|matmul|masked_fill|float|to)'"
        r"|\w{1,80}\(\): argument '\w{1,80}' \(position \d+\) must be Tensor, not (?:list|tuple)",
        "A list or a tuple stands where a tensor or a number is needed; a function that returns "
        "several results gives a tuple.",
        "Where do the parts become one tensor, or which part is meant?",
    ),
    ErrorText.of(
        "number_as_tensor",
        r"\w{1,80}\(\): argument '\w{1,80}' \(position \d+\) must be Tensor, not (?:int|float)",
        "A function of torch that takes a tensor gets a Python number.",
        A_NUMBER,
    ),
    ErrorText.of(
        "plain_tensor_as_parameter",
        r"cannot assign '[\w.]{1,80}' as parameter '\w{1,80}' "
        r"\(torch\.nn\.Parameter or None expected\)",
        "A plain tensor is assigned to the name of a parameter.",
        "What turns a tensor into a parameter, and should there be a new one?",
    ),
    ErrorText.of(
        "not_a_function",
        r"'(?P<kind>Tensor|Parameter|int|float|list|tuple|str|dict)' object is not callable",
        "Round brackets stand behind something that is no function and no module.",
        "Is an index meant, a product, or a function that a variable of the same name hides?",
        "Round brackets stand behind something of type {kind}, which can't be called.",
    ),
    ErrorText.of(
        "no_such_attribute",
        rf"'(?P<owner>{WORD})' object has no attribute '(?P<name>\w{{1,80}})'",
        "An attribute is read that its object does not have.",
        "Is it assigned to self in __init__, and is it spelled alike in both places?",
        "{owner} has no attribute {name}.",
    ),
    ErrorText.of(
        "no_such_function",
        rf"module '(?P<owner>{WORD})' has no attribute '(?P<name>\w{{1,80}})'",
        "A function is read from a module of Python or torch that does not have it.",
        "How is it spelled in the documentation, and in which module is it?",
        "{owner} has no {name}.",
    ),
    ErrorText.of(
        "arguments_of_a_call",
        rf"(?P<called>{WORD})\(\) missing \d+ required [\w-]+ arguments?:",
        "A call leaves out an argument that the definition requires.",
        WHICH_ARGUMENTS,
        "The call of {called} leaves out an argument that its definition requires.",
    ),
    ErrorText.of(
        "arguments_of_a_call",
        rf"(?P<called>{WORD})\(\) takes (?P<a>(?:from \d+ to )?\d+) positional arguments? but "
        r"(?P<b>\d+) (?:was|were) given",
        "A call hands over more arguments than the definition takes.",
        WHICH_ARGUMENTS,
        "{called} takes {a} arguments by position, and the call hands over {b}; in a method, self "
        "counts as one.",
    ),
    ErrorText.of(
        "arguments_of_a_call",
        rf"(?P<called>{WORD})\(\) got an unexpected keyword argument '(?P<name>\w{{1,80}})'",
        "A call names an argument that the definition does not have.",
        WHICH_ARGUMENTS,
        "The call of {called} names the argument {name}, which its definition does not have.",
    ),
    ErrorText.of(
        "arguments_of_a_call",
        rf"(?P<called>{WORD})\(\) got multiple values for argument '(?P<name>\w{{1,80}})'",
        "A call hands over one argument twice, by position and by name.",
        WHICH_ARGUMENTS,
        "The call of {called} hands over {name} twice, by position and by name.",
    ),
    ErrorText.of(
        "name_not_defined",
        r"name '(?P<name>\w{1,80})' is not defined",
        "A name is used that is not defined.",
        "Is it spelled alike where it is defined, and does it need `self.` in front?",
        "{name} is not defined.",
    ),
    ErrorText.of(
        "used_before_it_has_a_value",
        r"(?:cannot access )?local variable '(?P<name>\w{1,80})' "
        r"(?:where it is not associated with a value|referenced before assignment)",
        "A name is used before it gets a value in its function.",
        "Which line gives it a value, and does that line run before this one?",
        "{name} is used before it gets a value in its function.",
    ),
    ErrorText.of(
        "module_of_python",
        r"unsupported operand type\(s\) for [^:]{1,12}: (?:'module' and|'\w{1,80}' and 'module')"
        r"|\w{1,80}\(\): argument '\w{1,80}' \(position \d+\) must be Tensor, not module"
        r"|'module' object is not (?:callable|subscriptable|iterable)",
        "A module of Python, such as torch itself, stands where a tensor or a function is needed.",
        "Which function of the module is meant, and is it called?",
    ),
    ErrorText.of(
        "arguments_of_masked_fill",
        r"masked_fill_?\(\) received an invalid combination of arguments - got "
        r"\((?!Tensor, (?:int|float))",
        "masked_fill takes a mask and then a number; it gets something else.",
        "What are the two arguments, and can one of them be None?",
    ),
    ErrorText.of(
        "calls_itself",
        r"maximum recursion depth exceeded",
        "A function calls itself, and never ends.",
        "Which call leads back to the function that it stands in?",
    ),
    ErrorText.of(
        "dropout_share",
        r"dropout probability has to be between 0 and 1",
        "The share that dropout is to drop is not between 0 and 1.",
        "Which argument holds the share, and in which place is it handed on?",
    ),
)
CODE_ERRORS: tuple[ErrorText, ...] = (*GRADIENTS, *DTYPES, *PYTHON)
